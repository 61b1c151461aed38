public import Foundation
package import LarderModel
import LarderQuery
import Logging

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
