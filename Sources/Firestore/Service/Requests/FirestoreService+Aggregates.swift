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
        let database = try await readableDatabase(
            request.parent, ConsistencySelector(request.consistencySelector))
        return try await queries.run { () throws(LarderError) in
            let coder = database.coder()
            let (aggregates, selection) = try coder.decode(request)
            var response = Google_Firestore_V1_RunAggregationQueryResponse()
            if request.hasExplainOptions {
                let execution = try database.backend.explain(selection.query)
                response.explainMetrics.planSummary = .init(execution)
                if !request.explainOptions.analyze { return response }
            }
            let time = try ReadTime(
                ConsistencySelector(request.consistencySelector), database, coder)
            let start = ContinuousClock.now
            let (values, version) = try database.aggregates(aggregates, over: selection, time)
            let metrics = response.explainMetrics
            response = try coder.encode(
                values, of: aggregates, readTime: time.readTime(version))
            response.transaction = time.begun
            if request.hasExplainOptions {
                response.explainMetrics = metrics
                response.explainMetrics.executionStats.resultsReturned = 1
                response.explainMetrics.executionStats.readOperations = 1
                response.explainMetrics.executionStats.executionDuration = .init(
                    ContinuousClock.now - start)
            }
            return response
        }
    }
}

extension Google_Protobuf_Duration {
    /// The message of a duration, to the nanosecond.
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self.init(seconds: seconds, nanos: Int32(attoseconds / 1_000_000_000))
    }
}

extension DatabaseContext {
    /// Aggregations over the documents of a selection, and the version of the database.
    fileprivate func aggregates(
        _ named: [NamedAggregate], over selection: QuerySelection, _ time: ReadTime
    ) throws(LarderError) -> (values: [Value], version: SnapshotVersion) {
        let (values, version) = try backend.aggregates(
            named.map(\.aggregate), over: selection.query, offset: selection.offset,
            as: credentials, in: time.transaction, asOf: time.asOf, memory: origin?.memory)
        let bounded = zip(values, named).map { value, named -> Value in
            if selection.isEmpty {
                return if case .average = named.aggregate { .null } else { .integer(0) }
            }
            guard case .integer(let count) = value, named.aggregate == .count else { return value }
            return .integer(min(count, named.upTo ?? .max))
        }
        return (bounded, version)
    }
}
