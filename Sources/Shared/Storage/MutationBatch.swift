public import LarderModel

/// A document that a batch of pending writes touches.
public struct TouchedDocument: Hashable, Sendable {
    /// The document.
    public let path: DocumentPath
    /// The version that the write was based on; ``LarderModel/SnapshotVersion/none`` for none.
    public let baseVersion: SnapshotVersion

    /// A document that a batch touches.
    public init(path: DocumentPath, baseVersion: SnapshotVersion = .none) {
        self.path = path
        self.baseVersion = baseVersion
    }
}

/// Pending writes of one user that go to the backend together.
public struct MutationBatch: Hashable, Sendable {
    /// The batch's id: it rises over all users and is never used again.
    public let id: Int64
    /// When the writes were made, by the local clock.
    public let localWriteTime: Timestamp
    /// The documents that it touches, in the order they were given.
    public let documents: [TouchedDocument]
    /// The writes, in the caller's encoding.
    public let payload: [UInt8]
    /// How many attempts to send it were recorded.
    public let attemptCount: Int
    /// When the last one was; nil for none.
    public let lastAttempt: Timestamp?
    /// The text of the last failure; nil for none.
    public let lastError: String?
}
