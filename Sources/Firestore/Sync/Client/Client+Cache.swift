package import LarderDocumentStore
package import LarderModel
package import LarderPlanning
package import LarderQuery

extension Client {
    /// Makes these the indexes: equal ones stay, others go, new ones are filled in the
    /// background.
    package func configureIndexes(
        _ configuration: IndexConfiguration,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.configureIndexes(configuration, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Makes indexes by themselves from now on for queries that scan much and find little.
    ///
    /// - Parameter persistently: also after the next start.
    package func enableAutomaticIndexes(
        persistently: Bool = false,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { engine in
                completion(
                    Result { () throws(LarderError) in
                        try engine.indexing.automatic.enable(persistently: persistently)
                    })
            },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Makes no indexes by themselves from now on, nor after the next start; those that are there
    /// stay.
    package func disableAutomaticIndexes(
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { engine in
                completion(
                    Result { () throws(LarderError) in try engine.indexing.automatic.disable() })
            },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Removes every index.
    package func deleteAllIndexes(
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        configureIndexes(IndexConfiguration([]), completion: completion)
    }

    /// The indexes as they are in the store.
    package func indexes() throws(LarderError) -> [IndexInfo] {
        try checkOpen()
        return try engine.indexing.maintenance.indexes()
    }

    /// Calls a closure when every index that is being filled, or removed, is through.
    package func waitForIndexes(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.waitForIndexes(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Cache

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

/// What evicting by hand did.
package struct EvictionSummary: Sendable, Hashable {
    /// Documents that went from the cache.
    package let documentCount: Int
    /// What they occupied, in bytes.
    package let freedBytes: Int64
    /// Documents that stayed because pending writes touch them.
    package let keptCount: Int
}
