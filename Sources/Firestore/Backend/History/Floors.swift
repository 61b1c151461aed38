import LarderModel

/// The versions below which a backend serves no document, each from its commit on.
///
/// Clients ignore a document that is older than the one they have. After a restore, documents are
/// older than what clients have seen of the lost history, so they are served with the version of a
/// later commit, the floor. The stored versions stay as they are.
struct Floors: Sendable, Equatable {
    /// The maximum number that is kept for preconditions.
    private static let maxCount = 1_000

    /// In ascending order.
    private(set) var versions: [SnapshotVersion]

    init(_ versions: [SnapshotVersion] = []) {
        self.versions = versions
    }

    /// The newest floor; none if there is none.
    var last: SnapshotVersion { versions.last ?? .none }

    mutating func append(_ version: SnapshotVersion) {
        versions = (versions + [version]).suffix(Self.maxCount)
    }

    /// The floor of the documents of a commit; none if there is none.
    func floor(at commit: SnapshotVersion) -> SnapshotVersion {
        versions.last { $0 <= commit } ?? .none
    }

    /// True if a document with a stored version is, or was, served with another one.
    func haveServed(_ version: SnapshotVersion, for stored: SnapshotVersion) -> Bool {
        version > stored && versions.contains(version)
    }
}

extension Document {
    /// The document as it is served above a floor.
    func served(above floor: SnapshotVersion) -> Document {
        guard exists, version < floor else { return self }
        return Document(
            path: path, state: state, record: record, version: floor, createTime: createTime,
            readTime: readTime, hasLocalMutations: hasLocalMutations,
            hasCommittedMutations: hasCommittedMutations, largestBatchID: largestBatchID,
            storedBytes: storedBytes)
    }
}
