package import LarderModel
package import LarderQuery
import SwiftProtobuf

/// An aggregation in a request.
package struct NamedAggregate: Sendable, Hashable {
    package var alias: String
    package var aggregate: Aggregate
    /// The maximum count; nil for none.
    package var upTo: Int64?

    package init(_ alias: String, _ aggregate: Aggregate, upTo: Int64? = nil) {
        self.alias = alias
        self.aggregate = aggregate
        self.upTo = upTo
    }
}

extension MessageCoder {
    private static let maxAliasBytes = 1500

    /// Encodes a request for aggregations over a target at the current time.
    ///
    /// - Throws: `unimplemented` for aggregations that Firestore lacks, and as
    ///   ``encode(_:)-(QueryTarget)``.
    package func encode(_ aggregates: [Aggregate], over target: QueryTarget)
        throws(LarderError) -> Google_Firestore_V1_RunAggregationQueryRequest
    {
        var message = Google_Firestore_V1_RunAggregationQueryRequest()
        let (parent, query) = try encode(target)
        message.parent = parent
        message.structuredAggregationQuery.structuredQuery = query
        // Firestore has no index for an aggregation of a field after the document name.
        if target.impliesOrderByName {
            message.structuredAggregationQuery.structuredQuery.orderBy.removeLast()
        }
        for (position, aggregate) in aggregates.enumerated() {
            message.structuredAggregationQuery.aggregations.append(
                try encode(NamedAggregate(Self.alias(position), aggregate)))
        }
        return message
    }

    /// Decodes a request for aggregations.
    ///
    /// - Throws: `invalidArgument` for no or too many aggregations, long or duplicate aliases, a
    ///   count limit below 1, and as ``decode(_:below:)``.
    package func decode(_ request: Google_Firestore_V1_RunAggregationQueryRequest)
        throws(LarderError) -> (aggregates: [NamedAggregate], selection: QuerySelection)
    {
        let message = request.structuredAggregationQuery
        guard case .structuredQuery(let query)? = message.queryType else {
            throw .invalidArgument("Only structured aggregation queries are supported.")
        }
        // The messages here and below are Firestore's, which applications match.
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

    /// Encodes the results of aggregations.
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

    /// Decodes the results of ``encode(_:over:)``, in the order of the request.
    ///
    /// - Parameter count: the number of requested aggregations.
    /// - Throws: `internal` for a missing result or invalid data.
    package func decode(
        _ response: Google_Firestore_V1_RunAggregationQueryResponse, count: Int
    ) throws(LarderError) -> [Value] {
        try answer { () throws(LarderError) in
            var values: [Value] = []
            for position in 0..<count {
                guard let value = response.result.aggregateFields[Self.alias(position)] else {
                    throw .invalidArgument("the result of aggregation \(position) is missing")
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
            throw .unimplemented("a minimum or maximum by the backend")
        }
        return message
    }

    private func decode(_ message: Google_Firestore_V1_StructuredAggregationQuery.Aggregation)
        throws(LarderError) -> NamedAggregate
    {
        switch message.operator {
        case nil: throw .invalidArgument("an aggregation has no operator")
        case .sum(let sum):
            return NamedAggregate(message.alias, .sum(try decode(aggregated: sum.field)))
        case .avg(let average):
            return NamedAggregate(message.alias, .average(try decode(aggregated: average.field)))
        case .count(let count):
            guard !count.hasUpTo || count.upTo.value > 0 else {
                throw .invalidArgument("a count limit of \(count.upTo.value)")
            }
            return NamedAggregate(
                message.alias, .count, upTo: count.hasUpTo ? count.upTo.value : nil)
        }
    }

    private func decode(
        aggregated field: Google_Firestore_V1_StructuredQuery.FieldReference
    ) throws(LarderError) -> FieldPath {
        let path = try decode(fieldPath: field.fieldPath)
        guard !path.isDocumentID else {
            throw .invalidArgument("Aggregations are not supported for the property: \(path)")
        }
        return path
    }
}
