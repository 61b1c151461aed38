public import LarderModel

/// The metadata of a snapshot: whether it contains pending writes and whether the server has
/// confirmed it.
public final class SnapshotMetadata: Sendable {
    /// Whether the snapshot contains writes that the backend has not acknowledged.
    public let hasPendingWrites: Bool

    /// Whether the snapshot comes from the cache and has not been confirmed as current by the
    /// server.
    public let isFromCache: Bool

    /// The extent and time of the backend's confirmation; ignored by equality.
    public let freshness: Freshness

    init(hasPendingWrites: Bool, isFromCache: Bool, freshness: Freshness) {
        self.hasPendingWrites = hasPendingWrites
        self.isFromCache = isFromCache
        self.freshness = freshness
    }
}

extension SnapshotMetadata: Hashable, ObjectComparable {
    /// True if both flags are equal.
    public static func == (left: SnapshotMetadata, right: SnapshotMetadata) -> Bool {
        left.hasPendingWrites == right.hasPendingWrites && left.isFromCache == right.isFromCache
    }

    /// Hashes both flags.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hasPendingWrites)
        hasher.combine(isFromCache)
    }
}

/// The freshness of a snapshot: what the backend has confirmed, and when.
///
/// More precise than ``SnapshotMetadata/isFromCache``, which only says whether the backend has
/// confirmed the snapshot as current.
public struct Freshness: Hashable, Sendable {
    /// The origin of a snapshot.
    public enum Source: Hashable, Sendable {
        /// The cache; the backend may have newer data.
        case cache
        /// The backend; the snapshot is current.
        case server
    }

    /// The origin of the snapshot.
    public let source: Source

    /// The latest time, by the backend's clock, at which the snapshot is known to be complete and
    /// correct apart from pending writes; nil if the backend has never delivered all of it.
    ///
    /// For a query, everything that matched at that time is in the results. Later changes by other
    /// clients are missing, unless another query has brought them into the cache: such documents
    /// are newer, and are absent if they no longer match.
    public let readTime: Timestamp?

    /// The number of documents in the snapshot with pending writes.
    public let pendingDocumentCount: Int

    /// Whether the snapshot contains everything that matched at ``readTime``.
    ///
    /// False for a query that has never been read or listened to while the backend was reachable:
    /// its results are those of other queries in the cache.
    public var isComplete: Bool { readTime != nil }

    init(isFromCache: Bool, readTime: SnapshotVersion, pendingDocumentCount: Int) {
        source = isFromCache ? .cache : .server
        self.readTime = readTime.isNone ? nil : readTime.timestamp
        self.pendingDocumentCount = pendingDocumentCount
    }
}

/// The state behind ``SnapshotMetadata``.
struct SnapshotState: Sendable {
    /// Whether it contains pending writes.
    var hasPendingWrites: Bool
    /// Whether the backend has not confirmed it as current.
    var isFromCache = true
    /// The backend's snapshot version that it corresponds to, if any.
    var readTime = SnapshotVersion.none

    func metadata(pendingDocumentCount: Int? = nil) -> SnapshotMetadata {
        SnapshotMetadata(
            hasPendingWrites: hasPendingWrites, isFromCache: isFromCache,
            freshness: Freshness(
                isFromCache: isFromCache, readTime: readTime,
                pendingDocumentCount: pendingDocumentCount ?? (hasPendingWrites ? 1 : 0)))
    }
}
