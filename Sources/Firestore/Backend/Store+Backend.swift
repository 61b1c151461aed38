import LarderModel
import LarderStorage

/// What a backend keeps beside its documents.
extension ReadableTransaction where Self: ~Copyable {
    /// The version of the last commit; none before the first.
    func commitVersion() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, BackendNames.commitVersion)?.time ?? .none
    }

    /// The version before which deletes are forgotten; none where all are kept.
    func deletesForgottenBefore() throws(LarderError) -> SnapshotVersion {
        try namedValue(.global, BackendNames.forgottenDeletes)?.time ?? .none
    }

    /// The number that tells this backend from others; nil in a store that was never one's.
    func backendIdentity() throws(LarderError) -> UInt64? {
        guard let bytes = try namedValue(.global, BackendNames.identity)?.payload,
            bytes.count == 8
        else { return nil }
        return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension WriteTransaction {
    /// Notes the version of the last commit.
    mutating func putCommitVersion(_ version: SnapshotVersion) throws(LarderError) {
        try putNamedValue(.global, BackendNames.commitVersion, [], time: version)
    }

    /// Notes that deletes before a version are forgotten.
    mutating func putDeletesForgotten(before version: SnapshotVersion) throws(LarderError) {
        try putNamedValue(.global, BackendNames.forgottenDeletes, [], time: version)
    }

    /// Notes the number that tells this backend from others.
    mutating func putBackendIdentity(_ identity: UInt64) throws(LarderError) {
        try putNamedValue(
            .global, BackendNames.identity,
            (0..<8).map { UInt8(truncatingIfNeeded: identity >> (8 * $0)) })
    }
}

private enum BackendNames {
    static let commitVersion = "backend.commitVersion"
    static let forgottenDeletes = "backend.forgottenDeletes"
    static let identity = "backend.identity"
}
