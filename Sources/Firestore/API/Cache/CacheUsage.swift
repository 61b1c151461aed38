import LarderStorage

/// What a database's store holds and occupies, as of one commit; sizes in bytes.
public struct CacheUsage: Hashable, Sendable {
    /// What is stored: the figure that is compared with the cache size.
    public let totalBytes: Int64
    /// The cache size; nil for an unlimited one.
    public let limitBytes: Int64?
    /// Documents that exist.
    public let documentCount: Int64
    /// Documents that are known not to exist, or whose contents are not known.
    public let absentDocumentCount: Int64
    /// What documents occupy.
    public let documentBytes: Int64
    /// Writes that the backend has not acknowledged, batches counted once.
    public let pendingWriteCount: Int64
    /// What pending writes occupy, with the documents as they make them.
    public let pendingWriteBytes: Int64
    /// What indexes occupy.
    public let indexBytes: Int64
    /// The size of the store's file.
    public let fileBytes: Int64
    /// What of the file holds nothing and will be used again.
    public let freeBytes: Int64
    /// Documents evicted since the store was opened.
    public let evictedDocumentCount: Int64
    /// What they occupied.
    public let evictedBytes: Int64

    init(_ statistics: StoreStatistics) {
        totalBytes = statistics.totalBytes
        limitBytes = statistics.budgetBytes
        documentCount = statistics.documentCount
        absentDocumentCount = statistics.absentCount
        documentBytes = statistics.documents.sizeBytes
        pendingWriteCount = statistics.pendingBatchCount
        pendingWriteBytes = statistics.mutations.sizeBytes + statistics.overlays.sizeBytes
        indexBytes = statistics.indexes.sizeBytes
        fileBytes = statistics.fileBytes
        freeBytes = statistics.freeBytes
        evictedDocumentCount = statistics.evictedDocumentCount
        evictedBytes = statistics.evictedBytes
    }
}
