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

    /// True if a backend has used the store, also one of a version that did not record roles.
    package func isOfBackend() throws(LarderError) -> Bool {
        try namedValue(.global, BackendNames.commitVersion) != nil
    }

    /// True from the beginning of an import to its end.
    func isImporting() throws(LarderError) -> Bool {
        try namedValue(.global, BackendNames.importing) != nil
    }
}

extension WriteTransaction {
    /// Records that tombstones before a version were discarded.
    mutating func putDeletesForgotten(before version: SnapshotVersion) throws(LarderError) {
        try putNamedValue(.global, BackendNames.forgottenDeletes, [], version: version)
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

enum BackendNames {
    static let commitVersion = "backend.commitVersion"
    static let forgottenDeletes = "backend.forgottenDeletes"
    static let importing = "backend.importing"
    static let place = "backend.place"
    static let runs = "backend.runs"
}
