public import Foundation
package import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import Logging

/// A query for aggregations over the documents of a query.
public final class AggregateQuery: Sendable {
    /// The query.
    public let query: Query

    let fields: [AggregateField]

    init(_ query: Query, _ fields: [AggregateField]) {
        self.query = query
        self.fields = fields
    }

    /// Computes the aggregations at a source.
    ///
    /// The handler is called on the callback queue.
    public func getAggregation(
        source: AggregateSource,
        completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
    ) {
        let firestore = query.firestore
        let done: Completion<AggregateQuerySnapshot> = firestore.callbackQueue.completion(
            completion)
        if source == .server, !firestore.isLocal {
            askServer(done)
        } else {
            firestore.read(query.place, done) { [self] client throws(LarderError) in
                try cached(client)
            }
        }
    }

    /// Computes the aggregations at a source.
    ///
    /// - Throws: `unavailable` if the requested server cannot be reached; `invalidArgument` for an
    ///   invalid query or field; errors of the store and of the backend, such as
    ///   `permissionDenied`.
    @discardableResult
    public nonisolated(nonsending) func getAggregation(
        source: AggregateSource
    ) async throws -> AggregateQuerySnapshot {
        if source == .server, !query.firestore.isLocal {
            return try await answer { askServer($0) }
        }
        return try await query.firestore.read(query.place) { client throws(LarderError) in
            try cached(client)
        }
    }

    private var aggregates: [Aggregate] {
        get throws(LarderError) {
            guard !fields.isEmpty else {
                throw .invalidArgument("An aggregate query needs at least one aggregation.")
            }
            var aggregates: [Aggregate] = []
            for field in fields {
                let aggregate = try field.aggregate.get()
                if !aggregates.contains(aggregate) { aggregates.append(aggregate) }
            }
            guard aggregates.count <= Aggregate.maxCount else {
                throw .invalidArgument(
                    "The maximum number of aggregations allowed in an aggregation query is "
                        + "\(Aggregate.maxCount). Received: \(aggregates.count)")
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

extension AggregateQuery: Hashable, ObjectComparable {
    /// True if queries and aggregations are equal.
    public static func == (left: AggregateQuery, right: AggregateQuery) -> Bool {
        left.query == right.query && left.fields == right.fields
    }

    /// Hashes query and aggregations.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(query)
        hasher.combine(fields)
    }
}

extension Query {
    /// A query for the number of matching documents.
    public var count: AggregateQuery { aggregate([.count()]) }

    /// A query for aggregations, at most five, over the matching documents.
    ///
    /// As at the server, all of them are over the documents that have every aggregated field: a
    /// count beside a sum is the number of those. A limit applies to these documents, in the order
    /// of the aggregated fields after the query's own.
    public func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
        AggregateQuery(self, aggregateFields)
    }
}

/// The results of an aggregate query.
public final class AggregateQuerySnapshot: Sendable {
    /// The aggregate query.
    public let query: AggregateQuery

    private let values: [Aggregate: Value]

    init(_ query: AggregateQuery, _ values: [Aggregate: Value]) {
        self.query = query
        self.values = values
    }

    /// Creates the results from the server's list of values.
    convenience init(_ query: AggregateQuery, _ aggregates: [Aggregate], _ values: [Value]) {
        self.init(query, Dictionary(zip(aggregates, values)) { first, _ in first })
    }

    /// The number of documents; only of those with all fields that are aggregated in the same query.
    ///
    /// If the count was not requested, it is 0 and an error is logged; Apple's SDK terminates the
    /// program.
    public var count: NSNumber {
        self.get(.count()) as? NSNumber ?? 0
    }

    /// The value of an aggregation: an `NSNumber` or, for a minimum or maximum, any value; `NSNull`
    /// for an average, minimum or maximum over no values.
    ///
    /// If the aggregation was not requested, it is `NSNull` and an error is logged; Apple's SDK
    /// terminates the program.
    public func get(_ aggregateField: AggregateField) -> Any {
        let firestore = query.query.firestore
        guard let value = value(aggregateField) else {
            firestore.logger.error("An aggregation was read that its query does not contain.")
            return NSNull()
        }
        return UserDataWriter(serverTimestamps: .none, references: firestore).value(value)
    }

    /// The value of an aggregation; nil if it was not requested.
    package func value(_ aggregateField: AggregateField) -> Value? {
        guard let aggregate = try? aggregateField.aggregate.get() else { return nil }
        return values[aggregate]
    }
}

extension AggregateQuerySnapshot: Hashable, ObjectComparable {
    /// True if queries and values are equal.
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

/// The source of an aggregation.
public enum AggregateSource: UInt, Hashable, Sendable {
    /// The server, over its documents without pending writes; fails with `unavailable` if it cannot
    /// be reached. The same as ``cache`` for a local database.
    case server = 0
    /// The cache, exactly and including pending writes; on the calling thread unless it has to wait
    /// for earlier writes.
    case cache = 1
}

/// An aggregation over the documents of a query.
///
/// With an invalid field path, the aggregate query fails with `invalidArgument`.
public final class AggregateField: Sendable {
    let aggregate: Result<Aggregate, LarderError>

    private init(_ aggregate: Result<Aggregate, LarderError>) {
        self.aggregate = aggregate
    }

    private convenience init(_ field: Any, _ make: (LarderModel.FieldPath) -> Aggregate) {
        self.init(
            Result { () throws(LarderError) in make(try FieldPath.resolving(field)) })
    }

    /// The number of documents; only of those with all fields that are aggregated in the same query.
    public static func count() -> AggregateField {
        AggregateField(.success(.count))
    }

    /// The sum of a field's numbers; 0 if there are none.
    public static func sum(_ field: String) -> AggregateField {
        AggregateField(field) { .sum($0) }
    }

    /// The sum of a field's numbers; 0 if there are none.
    public static func sum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .sum($0) }
    }

    /// The average of a field's numbers; null if there are none.
    public static func average(_ field: String) -> AggregateField {
        AggregateField(field) { .average($0) }
    }

    /// The average of a field's numbers; null if there are none.
    public static func average(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .average($0) }
    }

    /// The smallest value of a field in Firestore's order; null if there is none.
    ///
    /// Supported only by the cache.
    public static func minimum(_ field: String) -> AggregateField {
        AggregateField(field) { .minimum($0) }
    }

    /// The smallest value of a field in Firestore's order; null if there is none.
    ///
    /// Supported only by the cache.
    public static func minimum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .minimum($0) }
    }

    /// The largest value of a field in Firestore's order; null if there is none.
    ///
    /// Supported only by the cache.
    public static func maximum(_ field: String) -> AggregateField {
        AggregateField(field) { .maximum($0) }
    }

    /// The largest value of a field in Firestore's order; null if there is none.
    ///
    /// Supported only by the cache.
    public static func maximum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .maximum($0) }
    }
}

extension AggregateField: Hashable, ObjectComparable {
    /// True if both are the same aggregation.
    public static func == (left: AggregateField, right: AggregateField) -> Bool {
        switch (left.aggregate, right.aggregate) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// Hashes the aggregation.
    public func hash(into hasher: inout Hasher) {
        if case .success(let aggregate) = aggregate { hasher.combine(aggregate) }
    }
}
