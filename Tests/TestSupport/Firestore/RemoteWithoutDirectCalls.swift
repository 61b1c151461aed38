package import LarderModel
package import LarderQuery
package import LarderRemote

/// A backend of tests that refuses calls beyond those of the sync engine.
package protocol RemoteWithoutDirectCalls: Remote {}

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

    private var unimplemented: LarderError {
        LarderError(.unimplemented, "this backend of tests has no such call")
    }
}
