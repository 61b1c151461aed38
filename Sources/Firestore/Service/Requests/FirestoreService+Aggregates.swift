import LarderBackend
import LarderHTTP
import LarderModel
import LarderPlanning
import LarderQuery
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// Aggregations over the results of a query.
    func runAggregationQuery(_ request: Google_Firestore_V1_RunAggregationQueryRequest)
        async throws(LarderError) -> Google_Firestore_V1_RunAggregationQueryResponse
    {
        let consistency = ConsistencySelector(request.consistencySelector)
        let database = try await readableDatabase(request.parent, consistency)
        let time = try await database.turn(consistency) {
            (coder) throws(LarderError) in
            ReadTargets(queries: [try coder.decode(request).selection.query])
        }
        return try await queries.run { () throws(LarderError) in
            let coder = database.coder()
            let (aggregates, selection) = try coder.decode(request)
            if request.hasExplainOptions, !request.explainOptions.analyze {
                var response = Google_Firestore_V1_RunAggregationQueryResponse()
                response.explainMetrics.planSummary = .init(
                    try database.backend.explain(selection.query), of: selection)
                return response
            }
            let (values, execution, version) = try database.aggregates(
                aggregates, over: selection, time)
            var response = try coder.encode(
                values, of: aggregates, readTime: time.readTime(version))
            response.transaction = time.begun
            if request.hasExplainOptions, let execution {
                response.explainMetrics = .init(aggregating: execution, over: selection)
            }
            return response
        }
    }
}

extension DatabaseContext {
    /// Aggregations over the documents of a selection, their execution, and the version of the
    /// database.
    fileprivate func aggregates(
        _ named: [NamedAggregate], over selection: QuerySelection, _ time: ReadTime
    ) throws(LarderError) -> (
        values: [Value], execution: QueryExecution?, version: SnapshotVersion
    ) {
        let (values, execution, version) = try backend.aggregates(
            named.map(\.aggregate), over: selection.query, offset: selection.offset,
            as: credentials, in: time.transaction, asOf: time.asOf, memory: origin?.memory)
        let bounded = zip(values, named).map { value, named -> Value in
            if selection.isEmpty {
                return if case .average = named.aggregate { .null } else { .integer(0) }
            }
            guard case .integer(let count) = value, named.aggregate == .count else { return value }
            return .integer(min(count, named.upTo ?? .max))
        }
        return (bounded, execution, version)
    }
}
