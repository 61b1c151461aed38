import LarderModel

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
