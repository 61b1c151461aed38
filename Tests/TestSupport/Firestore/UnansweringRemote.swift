package import LarderModel
package import LarderQuery
package import LarderRemote

/// A backend that takes every call and answers none; what it says on watch streams is its own.
package protocol UnansweringRemote: RemoteWithoutDirectCalls {}

private final class UnansweringWriteStream: WriteStream {
    func send(_ request: WriteRequest) {}
    func close() {}
}

extension UnansweringRemote {
    package func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        UnansweringWriteStream()
    }

    package func read(
        _ paths: [DocumentPath], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {}

    package func commit(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {}

    package func aggregate(
        _ aggregates: [Aggregate], over target: QueryTarget, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {}

    package func invalidateToken() {}
}
