public import LarderModel
import LarderQuery
import LarderStorage
import LarderSync
import Logging

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

/// What an eviction did.
public struct EvictionReport: Hashable, Sendable {
    /// Documents that were removed from the cache.
    public let evictedCount: Int
    /// Documents that matched and were kept: they have pending writes.
    public let keptCount: Int
    /// What was freed, in bytes.
    public let freedBytes: Int64
}

extension Query {
    /// Keeps what matches, now and later, from eviction until the registration is removed or the
    /// database is terminated.
    ///
    /// An invalid query pins nothing, and is logged.
    public func pin() -> any ListenerRegistration {
        firestore.pin(executable)
    }

    /// Removes what matches from the cache, apart from documents with pending writes; listeners
    /// see it go.
    ///
    /// The server's documents stay as they are; a later read from the server brings them back.
    ///
    /// - Throws: `invalidArgument` for an invalid query; what the store reports.
    @discardableResult
    public nonisolated(nonsending) func evict() async throws(LarderError) -> EvictionReport {
        try await firestore.evict(executable)
    }
}

extension DocumentReference {
    /// Keeps the document from eviction until the registration is removed or the database is
    /// terminated.
    ///
    /// A reference with an unsound path pins nothing, and is logged.
    public func pin() -> any ListenerRegistration {
        firestore.pin(query)
    }

    /// Removes the document from the cache, unless it has pending writes; listeners see it go.
    ///
    /// The server's document stays as it is; a later read from the server brings it back.
    ///
    /// - Throws: `invalidArgument` for an unsound path; what the store reports.
    @discardableResult
    public nonisolated(nonsending) func evict() async throws(LarderError) -> EvictionReport {
        try await firestore.evict(query)
    }
}

extension Firestore {
    /// What the store holds and occupies; read on the calling thread.
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
