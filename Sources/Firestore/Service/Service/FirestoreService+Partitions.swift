import LarderBackend
import LarderModel
import LarderQuery
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// Places that cut what a query matches into parts of about the same size, in their order.
    func partitionQuery(_ request: Google_Firestore_V1_PartitionQueryRequest)
        async throws(LarderError) -> Google_Firestore_V1_PartitionQueryResponse
    {
        let session = try await session(request.parent)
        return try await queries.run { () throws(LarderError) in
            let coder = session.coder()
            let query = try Self.query(of: request, coder)
            let size = try PageToken.size(request.pageSize, most: 10_000)
            guard request.partitionCount > 0 else {
                throw LarderError(.invalidArgument, "the partition count is not above 0")
            }
            var after: DocumentPath?
            if case .reference(let name)? = try PageToken.values(request.pageToken, coder)?.first {
                after = name.document
            }
            var points = Partitions(count: Int(clamping: request.partitionCount))
            var time: Google_Protobuf_Timestamp?
            if case .readTime(let moment)? = request.consistencySelector { time = moment }
            _ = try session.backend.runQuery(
                query, as: session.credentials, asOf: Moment(at: time).asOf
            ) { document throws(LarderError) in
                points.add(document.path)
                return .continue
            }
            let left = points.paths.drop { path in after.map { path <= $0 } ?? false }
            var response = Google_Firestore_V1_PartitionQueryResponse()
            for path in left.prefix(size) {
                let name = Value.reference(ResourceName(database: session.id, document: path))
                response.partitions.append(
                    try coder.encode(Bound([name], isInclusive: true), isStart: true))
                if response.partitions.count == size, left.count > size {
                    response.nextPageToken = try PageToken.text([name], coder)
                }
            }
            return response
        }
    }

    /// The query of a request: a collection group by its names and no more.
    private static func query(
        of request: Google_Firestore_V1_PartitionQueryRequest, _ coder: MessageCoder
    ) throws(LarderError) -> Query {
        let selection = try coder.decode(request.structuredQuery, below: request.parent)
        guard case .group = selection.query.source, selection.query.filters.isEmpty,
            selection.query.orders.map(\.path) == [.documentID],
            selection.query.orders.allSatisfy({ !$0.isDescending }),
            selection.query.limit == nil, selection.query.start == nil,
            selection.query.end == nil, selection.offset == 0, !selection.isEmpty
        else {
            throw LarderError(
                .invalidArgument,
                "only a query of all documents of a collection group, ordered by name, is "
                    + "cut into partitions")
        }
        return selection.query
    }
}
