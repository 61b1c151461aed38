package import LarderDocumentStore
package import LarderModel
package import LarderPlanning
package import LarderQuery

extension Client {
    /// Replaces the indexes: equal ones stay, others are removed, new ones are filled in the
    /// background.
    package func configureIndexes(
        _ configuration: IndexConfiguration,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.configureIndexes(configuration, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Creates indexes automatically for queries that scan much and find little.
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

    /// Stops creating indexes automatically, also after the next start; present indexes stay.
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

    package func indexes() throws(LarderError) -> [IndexInfo] {
        try checkOpen()
        return try engine.indexing.maintenance.indexes()
    }

    /// Calls a closure when no index is being filled or removed.
    package func waitForIndexes(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.waitForIndexes(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Cache

    /// Evicts the documents of a query that have no pending writes; listeners see them removed.
    ///
    /// With a backend the next query fetches them again; without one they are lost.
    package func evict(
        _ query: Query,
        completion: @escaping @Sendable (Result<EvictionSummary, LarderError>) -> Void
    ) {
        perform(
            { $0.evict(query, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Replaces the cache rules, now and for later openings.
    ///
    /// - Parameter completion: called when the rules are durable; with `invalidArgument` for rules
    ///   that contradict themselves or each other.
    package func setCacheRules(
        _ rules: [CacheRule],
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setCacheRules(rules, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// True if a document is local only by the cache rules.
    package func isLocalOnly(_ path: DocumentPath) -> Bool { engine.cacheRules.isLocalOnly(path) }

    /// The cache rules of the store, with what is cached by each.
    package func cacheRules() throws(LarderError) -> [CacheRuleUsage] {
        try checkOpen()
        return try store.read { (transaction) throws(LarderError) in
            try transaction.cacheRules()
        }
    }

    /// Evicts all documents and targets that are not in use if the store has reached a size.
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

/// The result of an eviction by hand.
package struct EvictionSummary: Sendable, Hashable {
    package let documentCount: Int
    package let freedBytes: Int64
    /// Documents kept because of pending writes.
    package let keptCount: Int
}
