import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync

/// A question for figures over the documents that a query matches, instead of the documents.
public final class AggregateQuery: Sendable {
    /// The query.
    public let query: Query

    let fields: [AggregateField]

    init(_ query: Query, _ fields: [AggregateField]) {
        self.query = query
        self.fields = fields
    }

    /// Computes the figures where the source says.
    ///
    /// The handler is called on the callback queue.
    public func getAggregation(
        source: AggregateSource,
        completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
    ) {
        let firestore = query.firestore
        let done: Completion<AggregateQuerySnapshot> = firestore.callbackQueue.completion(
            completion)
        if source == .server {
            askServer(done)
        } else {
            firestore.read(query.place, done) { [self] client throws(LarderError) in
                try cached(client)
            }
        }
    }

    /// Computes the figures where the source says.
    ///
    /// - Throws: `unavailable` when the server is asked for and cannot be reached;
    ///   `invalidArgument` for an invalid query or field; what the store reports and what the
    ///   backend answers, such as `permissionDenied`.
    public nonisolated(nonsending) func getAggregation(
        source: AggregateSource
    ) async throws -> AggregateQuerySnapshot {
        if source == .server { return try await answer { askServer($0) } }
        return try await query.firestore.read(query.place) { client throws(LarderError) in
            try cached(client)
        }
    }

    /// What is asked, each figure once.
    private var aggregates: [Aggregate] {
        get throws(LarderError) {
            guard !fields.isEmpty else {
                throw .invalidArgument("An aggregate query asks for one figure at least.")
            }
            var aggregates: [Aggregate] = []
            for field in fields {
                let aggregate = try field.aggregate.get()
                if !aggregates.contains(aggregate) { aggregates.append(aggregate) }
            }
            return aggregates
        }
    }

    private func cached(_ client: Client) throws(LarderError) -> AggregateQuerySnapshot {
        AggregateQuerySnapshot(
            self, try client.aggregate(try aggregates, over: try query.executable.get()).values)
    }

    private func askServer(_ done: @escaping Completion<AggregateQuerySnapshot>) {
        query.firestore.withClient(done) { client, done in
            do throws(LarderError) {
                let aggregates = try aggregates
                client.aggregateAtServer(aggregates, over: try query.executable.get()) {
                    done($0.map { AggregateQuerySnapshot(self, aggregates, $0) })
                }
            } catch {
                done(.failure(error))
            }
        }
    }
}

extension AggregateQuery: Hashable {
    /// Whether both ask for the same figures of equal queries.
    public static func == (left: AggregateQuery, right: AggregateQuery) -> Bool {
        left.query == right.query && left.fields == right.fields
    }

    /// Hashes query and figures.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(query)
        hasher.combine(fields)
    }
}

extension Query {
    /// The question how many documents match.
    public var count: AggregateQuery { aggregate([.count()]) }

    /// The question for figures over the documents that match.
    public func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
        AggregateQuery(self, aggregateFields)
    }
}
