public import LarderModel
import LarderQuery
import LarderSync
import Logging

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
    /// - Throws: `failedPrecondition` for a terminated database; what the store reports.
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
