public import Foundation
package import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import Logging

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

/// Figures over the documents that a query matched.
public final class AggregateQuerySnapshot: Sendable {
    /// What was asked.
    public let query: AggregateQuery

    private let values: [Aggregate: Value]

    init(_ query: AggregateQuery, _ values: [Aggregate: Value]) {
        self.query = query
        self.values = values
    }

    /// What the server answered to a list of questions.
    convenience init(_ query: AggregateQuery, _ aggregates: [Aggregate], _ values: [Value]) {
        self.init(query, Dictionary(zip(aggregates, values)) { first, _ in first })
    }

    /// How many documents matched.
    ///
    /// 0, and an error in the log, when the count was not asked for; Apple's SDK stops the program
    /// over that.
    public var count: NSNumber {
        self.get(.count()) as? NSNumber ?? 0
    }

    /// A figure: an `NSNumber` or, for a minimum or maximum, any value; `NSNull` for an average,
    /// minimum or maximum of nothing.
    ///
    /// nil, and an error in the log, for a figure that was not asked for; Apple's SDK stops the
    /// program over that.
    public func get(_ aggregateField: AggregateField) -> Any? {
        let firestore = query.query.firestore
        guard let value = value(aggregateField) else {
            firestore.logger.error("An aggregate was read that its query does not ask for.")
            return nil
        }
        return UserDataWriter(serverTimestamps: .none, references: firestore).value(value)
    }

    /// A figure as it is computed; nil for one that was not asked for.
    package func value(_ aggregateField: AggregateField) -> Value? {
        guard let aggregate = try? aggregateField.aggregate.get() else { return nil }
        return values[aggregate]
    }
}

extension AggregateQuerySnapshot: Hashable {
    /// Whether both are equal figures of equal queries.
    public static func == (
        left: AggregateQuerySnapshot, right: AggregateQuerySnapshot
    ) -> Bool {
        left.query == right.query && left.values == right.values
    }

    /// Hashes the query.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(query)
    }
}

/// Where figures over documents are computed.
public enum AggregateSource: Int, Hashable, Sendable {
    /// By the server, over its documents alone; fails with `unavailable` when it cannot be
    /// reached.
    case server = 0
    /// Here, exactly, over what the cache holds with pending writes in it; on the calling
    /// thread unless earlier writes have to be waited for.
    case cache = 1
}

/// A figure that is asked of a query's documents.
///
/// A field that is no field path is reported by the aggregate query, as `invalidArgument`.
public final class AggregateField: Sendable {
    let aggregate: Result<Aggregate, LarderError>

    private init(_ aggregate: Result<Aggregate, LarderError>) {
        self.aggregate = aggregate
    }

    private convenience init(_ field: Any, _ make: (LarderModel.FieldPath) -> Aggregate) {
        self.init(
            Result { () throws(LarderError) in make(try FieldPath.resolving(field)) })
    }

    /// How many documents there are.
    public static func count() -> AggregateField {
        AggregateField(.success(.count))
    }

    /// The sum of a field's numbers: 0 without any.
    public static func sum(_ field: String) -> AggregateField {
        AggregateField(field) { .sum($0) }
    }

    /// The sum of a field's numbers: 0 without any.
    public static func sum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .sum($0) }
    }

    /// The average of a field's numbers: null without any.
    public static func average(_ field: String) -> AggregateField {
        AggregateField(field) { .average($0) }
    }

    /// The average of a field's numbers: null without any.
    public static func average(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .average($0) }
    }

    /// A field's first value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func minimum(_ field: String) -> AggregateField {
        AggregateField(field) { .minimum($0) }
    }

    /// A field's first value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func minimum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .minimum($0) }
    }

    /// A field's last value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func maximum(_ field: String) -> AggregateField {
        AggregateField(field) { .maximum($0) }
    }

    /// A field's last value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func maximum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .maximum($0) }
    }
}

extension AggregateField: Hashable {
    /// Whether both ask for the same figure.
    public static func == (left: AggregateField, right: AggregateField) -> Bool {
        switch (left.aggregate, right.aggregate) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// Hashes what is asked for.
    public func hash(into hasher: inout Hasher) {
        if case .success(let aggregate) = aggregate { hasher.combine(aggregate) }
    }
}
