public import LarderModel

/// What is known of a snapshot's state: whether writes are pending in it, whether the server
/// has confirmed it.
public final class SnapshotMetadata: Sendable {
    /// Whether it contains writes that the backend has not acknowledged.
    public let hasPendingWrites: Bool

    /// Whether it comes from the cache alone, without the server's word that it is up to date.
    public let isFromCache: Bool

    /// What the backend has confirmed of it, and when; does not count for equality.
    public let freshness: Freshness

    init(hasPendingWrites: Bool, isFromCache: Bool, freshness: Freshness) {
        self.hasPendingWrites = hasPendingWrites
        self.isFromCache = isFromCache
        self.freshness = freshness
    }
}

extension SnapshotMetadata: Hashable {
    /// Whether both flags are the same.
    public static func == (left: SnapshotMetadata, right: SnapshotMetadata) -> Bool {
        left.hasPendingWrites == right.hasPendingWrites && left.isFromCache == right.isFromCache
    }

    /// Hashes both flags.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hasPendingWrites)
        hasher.combine(isFromCache)
    }
}

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

/// What is known of a snapshot, as its metadata tell it.
struct SnapshotState: Sendable {
    /// Whether writes are pending in it.
    var hasPendingWrites: Bool
    /// Whether the backend has not confirmed it.
    var isFromCache = true
    /// The snapshot of the backend of which it is right; none for none.
    var readTime = SnapshotVersion.none

    /// What an application is shown of it.
    func metadata(pendingDocumentCount: Int? = nil) -> SnapshotMetadata {
        SnapshotMetadata(
            hasPendingWrites: hasPendingWrites, isFromCache: isFromCache,
            freshness: Freshness(
                isFromCache: isFromCache, readTime: readTime,
                pendingDocumentCount: pendingDocumentCount ?? (hasPendingWrites ? 1 : 0)))
    }
}
