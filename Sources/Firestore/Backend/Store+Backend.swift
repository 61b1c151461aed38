package import LarderDocumentStore
package import LarderModel

/// The backend's own values in the store.
extension ReadableTransaction where Self: ~Copyable {
    /// The version of the last commit; none before the first.
    func commitVersion() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, BackendNames.commitVersion)?.version ?? .none
    }

    /// The version before which tombstones were discarded; none if all are kept.
    func deletesForgottenBefore() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, BackendNames.forgottenDeletes)?.version ?? .none
    }

    /// The backend's unique identity; nil in a store that was never used by a backend.
    func backendIdentity() throws(LarderError) -> UInt64? {
        guard let bytes = try namedValue(.global, BackendNames.identity)?.payload,
            bytes.count == 8
        else { return nil }
        return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// True if a backend has used the store, also one of a version that did not record roles.
    package func isOfBackend() throws(LarderError) -> Bool {
        try namedValue(.global, BackendNames.identity) != nil
    }

    /// True from the beginning of an import to its end.
    func isImporting() throws(LarderError) -> Bool {
        try namedValue(.global, BackendNames.importing) != nil
    }
}

extension WriteTransaction {
    /// Saves the version of the last commit.
    mutating func putCommitVersion(_ version: SnapshotVersion) throws(LarderError) {
        try putNamedValue(.global, BackendNames.commitVersion, [], version: version)
    }

    /// Records that tombstones before a version were discarded.
    mutating func putDeletesForgotten(before version: SnapshotVersion) throws(LarderError) {
        try putNamedValue(.global, BackendNames.forgottenDeletes, [], version: version)
    }

    /// Saves the backend's unique identity.
    mutating func putBackendIdentity(_ identity: UInt64) throws(LarderError) {
        try putNamedValue(
            .global, BackendNames.identity,
            (0..<8).map { UInt8(truncatingIfNeeded: identity >> (8 * $0)) })
    }

    /// Records whether documents are being imported, see ``Backend/beginImport()``.
    mutating func putImporting(_ isImporting: Bool) throws(LarderError) {
        if isImporting {
            try putNamedValue(.global, BackendNames.importing, [])
        } else {
            try removeNamedValue(.global, BackendNames.importing)
        }
    }
}

private enum BackendNames {
    static let commitVersion = "backend.commitVersion"
    static let forgottenDeletes = "backend.forgottenDeletes"
    static let identity = "backend.identity"
    static let importing = "backend.importing"
}
