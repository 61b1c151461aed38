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
        guard selection.offset == 0 || named.allSatisfy({ $0.aggregate == .count }) else {
            throw LarderError(.unimplemented, "a sum or average with an offset is not implemented")
        }
        let (values, version) = try backend.aggregates(
            named.map(\.aggregate), over: selection.query(of: named), as: credentials,
            in: time.transaction, asOf: time.asOf, memory: origin?.memory)
        let bounded = zip(values, named).map { value, named -> Value in
            if selection.isEmpty {
                return if case .average = named.aggregate { .null } else { .integer(0) }
            }
            guard case .integer(let count) = value, named.aggregate == .count else { return value }
            let counted = max(count - Int64(selection.offset), 0)
            return .integer(min(counted, named.upTo ?? .max))
        }
        return (bounded, version)
    }
}

extension QuerySelection {
    /// The query to aggregate over: only documents with all aggregated fields, in the order of
    /// these, as from an index.
    fileprivate func query(of named: [NamedAggregate]) -> Query {
        var query = queryWithOffset
        // Cursors refer to the existing orders.
        guard query.start == nil, query.end == nil else { return query }
        for path in named.compactMap(\.aggregate.path) where !path.isDocumentID {
            guard !query.orders.contains(where: { $0.path == path }) else { continue }
            query.explicitOrders.append(
                Order(path, isDescending: query.explicitOrders.last?.isDescending ?? false))
        }
        return query
    }
}
