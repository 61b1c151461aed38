package import LarderModel
package import LarderQuery
import SwiftProtobuf

/// A figure as a request asks for it.
package struct NamedAggregate: Sendable, Hashable {
    /// What the answer calls it.
    package var alias: String
    /// The figure.
    package var aggregate: Aggregate
    /// Where counting stops; nil for nowhere.
    package var upTo: Int64?

    /// A figure of a name.
    package init(_ alias: String, _ aggregate: Aggregate, upTo: Int64? = nil) {
        self.alias = alias
        self.aggregate = aggregate
        self.upTo = upTo
    }
}

extension MessageCoder {
    private static let maxAliasBytes = 1500

    /// A request for figures over a target, as of now.
    ///
    /// - Throws: `unimplemented` for figures that Firestore does not have, and as
    ///   ``encode(_:)-(QueryTarget)``.
    package func encode(_ aggregates: [Aggregate], over target: QueryTarget)
        throws(LarderError) -> Google_Firestore_V1_RunAggregationQueryRequest
    {
        var message = Google_Firestore_V1_RunAggregationQueryRequest()
        let (parent, query) = try encode(target)
        message.parent = parent
        message.structuredAggregationQuery.structuredQuery = query
        // Firestore has no index for a figure of a field that stands behind the name.
        if target.impliesOrderByName {
            message.structuredAggregationQuery.structuredQuery.orderBy.removeLast()
        }
        for (position, aggregate) in aggregates.enumerated() {
            message.structuredAggregationQuery.aggregations.append(
                try encode(NamedAggregate(Self.alias(position), aggregate)))
        }
        return message
    }

    /// What a request asks for: figures over the documents of a selection.
    ///
    /// - Throws: `invalidArgument` for no figures or too many, names that are long or double,
    ///   a count up to less than 1, and as ``decode(_:below:)``.
    package func decode(_ request: Google_Firestore_V1_RunAggregationQueryRequest)
        throws(LarderError) -> (aggregates: [NamedAggregate], selection: QuerySelection)
    {
        let message = request.structuredAggregationQuery
        guard case .structuredQuery(let query)? = message.queryType else {
            throw .invalidArgument("the request has no query")
        }
        // Firestore's words, which applications look for.
        guard !message.aggregations.isEmpty else {
            throw .invalidArgument("Aggregations can not be empty")
        }
        guard message.aggregations.count <= limits.maxAggregates else {
            throw .invalidArgument(
                "The maximum number of aggregations allowed in an aggregation query is "
                    + "\(limits.maxAggregates). Received: \(message.aggregations.count)")
        }
        var aggregates: [NamedAggregate] = []
        var unnamedCount = 0
        for aggregation in message.aggregations {
            var named = try decode(aggregation)
            if named.alias.isEmpty {
                unnamedCount += 1
                named.alias = "field_\(unnamedCount)"
            }
            guard named.alias.utf8.count <= Self.maxAliasBytes else {
                throw .invalidArgument("an alias has \(named.alias.utf8.count) bytes")
            }
            guard !aggregates.contains(where: { $0.alias == named.alias }) else {
                throw .invalidArgument(
                    "Aggregation aliases contain duplicate alias: \(named.alias)")
            }
            aggregates.append(named)
        }
        return (aggregates, try decode(query, below: request.parent))
    }

    /// The answer with figures, in the order of their names.
    ///
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(
        _ values: [Value], of aggregates: [NamedAggregate], readTime: SnapshotVersion
    ) throws(LarderError) -> Google_Firestore_V1_RunAggregationQueryResponse {
        var message = Google_Firestore_V1_RunAggregationQueryResponse()
        message.readTime = .init(readTime)
        message.result = .init()
        for (value, named) in zip(values, aggregates) {
            message.result.aggregateFields[named.alias] = try encode(value)
        }
        return message
    }

    /// The figures of an answer to ``encode(_:over:)``, in the order that they were asked for.
    ///
    /// - Parameter count: how many were asked for.
    /// - Throws: `internal` for an answer without one of them, and for what breaks a bound.
    package func decode(
        _ response: Google_Firestore_V1_RunAggregationQueryResponse, count: Int
    ) throws(LarderError) -> [Value] {
        try answer { () throws(LarderError) in
            var values: [Value] = []
            for position in 0..<count {
                guard let value = response.result.aggregateFields[Self.alias(position)] else {
                    throw .invalidArgument("figure \(position) is missing")
                }
                values.append(try decode(value))
            }
            return values
        }
    }

    private static func alias(_ position: Int) -> String { "aggregate_\(position)" }

    private func encode(_ named: NamedAggregate)
        throws(LarderError) -> Google_Firestore_V1_StructuredAggregationQuery.Aggregation
    {
        var message = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
        message.alias = named.alias
        switch named.aggregate {
        case .count: message.count = .init()
        case .sum(let path): message.sum.field = encode(field: path)
        case .average(let path): message.avg.field = encode(field: path)
        case .minimum, .maximum:
            throw .unimplemented("a minimum or a maximum by the backend")
        }
        return message
    }

    private func decode(_ message: Google_Firestore_V1_StructuredAggregationQuery.Aggregation)
        throws(LarderError) -> NamedAggregate
    {
        switch message.operator {
        case nil: throw .invalidArgument("an aggregation has no operator")
        case .sum(let sum):
            return NamedAggregate(
                message.alias, .sum(try decode(fieldPath: sum.field.fieldPath)))
        case .avg(let average):
            return NamedAggregate(
                message.alias, .average(try decode(fieldPath: average.field.fieldPath)))
        case .count(let count):
            guard !count.hasUpTo || count.upTo.value > 0 else {
                throw .invalidArgument("a count up to \(count.upTo.value)")
            }
            return NamedAggregate(
                message.alias, .count, upTo: count.hasUpTo ? count.upTo.value : nil)
        }
    }
}

extension QueryTarget {
    /// Whether the last order is the one by name that every query has that does not say it.
    fileprivate var impliesOrderByName: Bool {
        guard let last = orders.last, last.path == .documentID else { return false }
        let others = orders.dropLast()
        return last.isDescending == (others.last?.isDescending ?? false)
            && [start, end].allSatisfy { ($0?.values.count ?? 0) <= others.count }
    }
}
