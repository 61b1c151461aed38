import LarderDocumentStore
public import LarderModel
import LarderQuery
import LarderSync
import Logging

/// The content and size of a database's store as of one commit; sizes are in bytes.
public struct CacheUsage: Hashable, Sendable {
    /// The size of all stored data, which is compared with the cache size.
    public let totalBytes: Int64
    /// The cache size; nil if it is unlimited.
    public let limitBytes: Int64?
    /// The number of existing documents.
    public let documentCount: Int64
    /// The number of documents known not to exist or with unknown contents.
    public let absentDocumentCount: Int64
    /// The size of documents.
    public let documentBytes: Int64
    /// The number of pending writes; a batch counts as one.
    public let pendingWriteCount: Int64
    /// The size of pending writes, including the resulting documents.
    public let pendingWriteBytes: Int64
    /// The size of indexes.
    public let indexBytes: Int64
    /// The size of the store's file.
    public let fileBytes: Int64
    /// The free space in the file, which will be reused.
    public let freeBytes: Int64
    /// The number of documents evicted since the store was opened.
    public let evictedDocumentCount: Int64
    /// The size of the evicted documents.
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

/// The result of an eviction.
public struct EvictionReport: Hashable, Sendable {
    /// The number of documents removed from the cache.
    public let evictedCount: Int
    /// The number of matching documents that were kept because of pending writes.
    public let keptCount: Int
    /// The freed size in bytes.
    public let freedBytes: Int64
}

extension Query {
    /// Prevents the eviction of all documents that match, now or later, until the registration is
    /// removed or the database is terminated.
    ///
    /// An invalid query is logged and has no effect.
    public func pin() -> any ListenerRegistration {
        firestore.pin(executable)
    }

    /// Removes matching documents from the cache, except those with pending writes; listeners are
    /// notified.
    ///
    /// The documents on the server are not affected; a later read from the server caches them
    /// again.
    ///
    /// - Throws: `invalidArgument` for an invalid query; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func evict() async throws(LarderError) -> EvictionReport {
        try await firestore.evict(executable)
    }
}

extension DocumentReference {
    /// Prevents the eviction of the document until the registration is removed or the database is
    /// terminated.
    ///
    /// A reference with an invalid path is logged and has no effect.
    public func pin() -> any ListenerRegistration {
        firestore.pin(query)
    }

    /// Removes the document from the cache, unless it has pending writes; listeners are notified.
    ///
    /// The document on the server is not affected; a later read from the server caches it again.
    ///
    /// - Throws: `invalidArgument` for an invalid path; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func evict() async throws(LarderError) -> EvictionReport {
        try await firestore.evict(query)
    }
}

extension Firestore {
    /// The content and size of the store; runs on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    public func cacheUsage() throws(LarderError) -> CacheUsage {
        CacheUsage(try connection.client().usage())
    }

    fileprivate func pin(
        _ query: Result<LarderQuery.Query, LarderError>
    ) -> any ListenerRegistration {
        let registration = Registration()
        do throws(LarderError) {
            registration.attach(try connection.client().pin(try query.get()))
        } catch {
            logger.error("pin(): \(error.message)")
        }
        return registration
    }

    fileprivate nonisolated(nonsending) func evict(
        _ query: Result<LarderQuery.Query, LarderError>
    ) async throws(LarderError) -> EvictionReport {
        let query = try query.get()
        let client = try connection.client()
        let summary = try await answer { client.evict(query, completion: $0) }
        return EvictionReport(
            evictedCount: summary.documentCount, keptCount: summary.keptCount,
            freedBytes: summary.freedBytes)
    }
}
