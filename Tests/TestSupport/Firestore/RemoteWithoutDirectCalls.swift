package import LarderModel
package import LarderQuery
package import LarderRemote

/// A backend of tests that refuses calls beyond those of the sync engine.
package protocol RemoteWithoutDirectCalls: Remote {}

/// A backend of tests that has streams, and refuses all calls.
package protocol StreamsOnlyRemote: RemoteWithoutDirectCalls {}

extension StreamsOnlyRemote {
    package func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func invalidateToken() {}
}

extension RemoteWithoutDirectCalls {
    package func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    package func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) {
        completion(.failure(unimplemented))
    }

    fileprivate var unimplemented: LarderError {
        LarderError(.unimplemented, "this backend of tests has no such call")
    }
}
