import LarderBackend
import LarderHTTP
import LarderModel
import LarderQuery
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// Cursors that split the results of a query into parts of about equal size.
    func partitionQuery(_ request: Google_Firestore_V1_PartitionQueryRequest)
        async throws(LarderError) -> Google_Firestore_V1_PartitionQueryResponse
    {
        let database = try await readableDatabase(request.parent)
        return try await queries.run { () throws(LarderError) in
            let coder = database.coder()
            let query = try Self.query(of: request, coder)
            let size = try PageToken.size(request.pageSize, most: 10_000)
            guard request.partitionCount > 0 else {
                throw LarderError(.invalidArgument, "the partition count must be positive")
            }
            var after: DocumentPath?
            if case .reference(let name)? = try PageToken.values(request.pageToken, coder)?.first {
                after = name.document
            }
            var points = Partitions(count: Int(clamping: request.partitionCount))
            var time: Google_Protobuf_Timestamp?
            if case .readTime(let selected)? = request.consistencySelector { time = selected }
            _ = try database.backend.runQuery(
                query, as: database.credentials, asOf: ReadTime(at: time).asOf,
                memory: database.origin?.memory
            ) { document throws(LarderError) in
                points.add(document.path)
                return .continue
            }
            let left = points.paths.drop { path in after.map { path <= $0 } ?? false }
            var response = Google_Firestore_V1_PartitionQueryResponse()
            for path in left.prefix(size) {
                let name = Value.reference(ResourceName(database: database.id, document: path))
                response.partitions.append(
                    try coder.encode(Bound([name], isInclusive: true), isStart: true))
                if response.partitions.count == size, left.count > size {
                    response.nextPageToken = try PageToken.text([name], coder)
                }
            }
            return response
        }
    }

    /// The query of a request, which must select a whole collection group in name order.
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
                "only a query of all documents of a collection group, ordered by name, can be "
                    + "partitioned")
        }
        return selection.query
    }
}

/// Samples a list of documents of unknown length to split it into parts of about equal size.
///
/// Keeps every nth document; when there are too many, drops every second one and doubles n.
struct Partitions {
    /// The size of the smallest part, as in Firestore.
    static let minSize = 128
    /// The number of samples per requested part.
    private static let fineness = 16
    private static let maxCount = 10_000

    private let count: Int
    private var kept: [DocumentPath] = []
    private var stride = minSize / 8
    private var total = 0

    /// - Parameter count: the largest number of split points.
    init(count: Int) {
        self.count = min(max(count, 1), Self.maxCount)
    }

    /// Adds the next document of the list.
    mutating func add(_ path: DocumentPath) {
        if total.isMultiple(of: stride) { kept.append(path) }
        total += 1
        guard kept.count > (count + 1) * Self.fineness else { return }
        kept = kept.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        stride *= 2
    }

    /// The split points: the first document of each part after the first.
    var paths: [DocumentPath] {
        let parts = min(count + 1, total / Self.minSize)
        guard parts > 1 else { return [] }
        return (1..<parts).map { part in
            kept[min((total * part / parts + stride / 2) / stride, kept.count - 1)]
        }
    }
}
