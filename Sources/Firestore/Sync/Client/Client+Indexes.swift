package import LarderDocumentStore
package import LarderModel
package import LarderPlanning

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
            { $0.enableAutomaticIndexes(persistently: persistently, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Makes no indexes by themselves from now on, nor after the next start; those that are there
    /// stay.
    package func disableAutomaticIndexes(
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.disableAutomaticIndexes(completion) },
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
        return try engine.maintenance.indexes()
    }

    /// Calls a closure when every index that is being filled, or removed, is through.
    package func waitForIndexes(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.waitForIndexes(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}
