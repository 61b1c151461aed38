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
