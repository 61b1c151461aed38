import LarderBackend
import LarderModel
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    private static let maxCollectionsOfPage = 1_000

    /// The ids of the collections below a document, or at the root, page by page.
    func listCollectionIDs(_ request: Google_Firestore_V1_ListCollectionIdsRequest)
        async throws(LarderError) -> Google_Firestore_V1_ListCollectionIdsResponse
    {
        try await read(request.parent) { (session, coder) throws(LarderError) in
            var time: Google_Protobuf_Timestamp?
            if case .readTime(let moment)? = request.consistencySelector { time = moment }
            let size = try PageToken.size(request.pageSize, most: Self.maxCollectionsOfPage)
            var ids = try session.backend.collectionIDs(
                below: try coder.decode(parent: request.parent), asOf: Moment(at: time).asOf)[...]
            if let values = try PageToken.values(request.pageToken, coder) {
                guard case .string(let last)? = values.first, values.count == 1 else {
                    throw LarderError(.invalidArgument, "the page token is of another list")
                }
                ids = ids.drop { !last.utf8.lexicographicallyPrecedes($0.utf8) }
            }
            var response = Google_Firestore_V1_ListCollectionIdsResponse()
            response.collectionIds = Array(ids.prefix(size))
            if ids.count > size, let last = response.collectionIds.last {
                response.nextPageToken = try PageToken.text([.string(last)], coder)
            }
            return response
        }
    }
}
