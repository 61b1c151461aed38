package import LarderModel
package import LarderQuery
package import LarderRemote

/// Calls that the backend answers once, without the cache.
///
/// Each fails with `unavailable` without a backend or while the network is not used, and with
/// `cancelled` when the client is terminated before the answer. Reads and commits fail with
/// `unavailable`, caused by ``NoAnswer``, when the answer takes longer than
/// ``ClientConfiguration/answerTimeout``, or than a second where that is shorter. An aggregation
/// may take as long as its remote lets it: how long a backend works on it depends on the data.
extension Client {
    /// Reads documents, all as of one moment, in the order of the paths.
    package func readAtServer(
        _ paths: [DocumentPath],
        completion: @escaping @Sendable (Result<[DocumentReading], LarderError>) -> Void
    ) {
        call(completion, isTimed: true) { $0.read(paths, as: $1, $2) }
    }

    /// Makes changes together, or none of them; see ``LarderRemote/Remote/commit(_:as:_:)``.
    package func commitAtServer(
        _ mutations: [Mutation],
        completion: @escaping @Sendable (Result<CommitResponse, LarderError>) -> Void
    ) {
        call(completion, isTimed: true) { $0.commit(mutations, as: $1, $2) }
    }

    /// Aggregates over the backend's documents that match a query; a value for each, in order.
    package func aggregateAtServer(
        _ aggregates: [Aggregate], over query: Query,
        completion: @escaping @Sendable (Result<[Value], LarderError>) -> Void
    ) {
        call(completion, isTimed: false) {
            $0.aggregate(aggregates, over: query.target, as: $1, $2)
        }
    }

    /// Calls a closure once the next attempt of a transaction is due.
    ///
    /// - Parameter backoff: how long the transaction has waited; the closure is given what to
    ///   hand in for the attempt after that.
    package func whenTransactionIsDue(
        _ backoff: Backoff, _ body: @escaping @Sendable (Result<Backoff, LarderError>) -> Void
    ) {
        perform(
            { $0.delayTransaction(backoff, Reply(body)) },
            otherwise: { body(.failure(Self.terminated)) })
    }

    private func call<Value: Sendable>(
        _ completion: @escaping @Sendable (Result<Value, LarderError>) -> Void, isTimed: Bool,
        _ body: @escaping @Sendable (any Remote, Credentials, @escaping Reply<Value>.Answer) -> Void
    ) {
        perform(
            { $0.call(Reply(completion), isTimed: isTimed, body) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}
