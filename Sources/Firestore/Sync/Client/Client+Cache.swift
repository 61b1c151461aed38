import LarderDocumentStore
package import LarderModel
package import LarderQuery

/// What evicting by hand did.
package struct EvictionSummary: Sendable, Hashable {
    /// Documents that went from the cache.
    package let documentCount: Int
    /// What they occupied, in bytes.
    package let freedBytes: Int64
    /// Documents that stayed because pending writes touch them.
    package let keptCount: Int
}

extension Client {
    /// Takes what matches a query out of the cache, apart from documents with pending writes;
    /// listeners see it go.
    ///
    /// With a backend the next query fetches it again; without one it is gone.
    package func evict(
        _ query: Query,
        completion: @escaping @Sendable (Result<EvictionSummary, LarderError>) -> Void
    ) {
        perform(
            { $0.evict(query, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Evicts documents and targets that nothing needs when the store is at least so large.
    ///
    /// Of the clients that share a store only the primary does.
    ///
    /// - Parameter threshold: in bytes.
    package func collectGarbage(
        threshold: Int64, completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.collectGarbage(threshold: threshold, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Deletes the store of a configuration with everything in it, pending writes, too.
    ///
    /// Blocks for the disk; does nothing for a store in memory or one that is not there.
    ///
    /// - Throws: `failedPrecondition` while a client or another process has it open.
    package static func clearPersistence(
        _ configuration: ClientConfiguration
    ) throws(LarderError) {
        guard case .directory(let directory) = configuration.storage.location else { return }
        try Store.remove(directory: directory, errorDomain: LarderError.firestoreDomain)
    }
}
