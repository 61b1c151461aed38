public import LarderModel

/// How far a snapshot can be relied on: what the backend has confirmed of it, and when.
///
/// Beside ``SnapshotMetadata/isFromCache``, which says only whether the backend has confirmed it
/// just now.
public struct Freshness: Hashable, Sendable {
    /// Whose word a snapshot is.
    public enum Source: Hashable, Sendable {
        /// The cache's alone: the backend may know better.
        case cache
        /// The backend's, up to the present.
        case server
    }

    /// Whose word the snapshot is.
    public let source: Source

    /// The moment, by the backend's clock, of which the snapshot is known to be right but for
    /// pending writes; nil when the backend has never told all of it.
    ///
    /// For a query, all that matched at that moment is in the results. What a writer other than
    /// this database has changed since is not in them, unless another query has brought it into the
    /// cache: such a document is newer than the moment, and gone where it matches no longer.
    public let readTime: Timestamp?

    /// How many documents of the snapshot have pending writes.
    public let pendingDocumentCount: Int

    /// Whether nothing is missing that matched at ``readTime``.
    ///
    /// False for a query that was never listened to, or read, while the backend could be
    /// reached: its results are what other queries have left in the cache.
    public var isComplete: Bool { readTime != nil }

    init(isFromCache: Bool, readTime: SnapshotVersion, pendingDocumentCount: Int) {
        source = isFromCache ? .cache : .server
        self.readTime = readTime.isNone ? nil : readTime.timestamp
        self.pendingDocumentCount = pendingDocumentCount
    }
}
