import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// The results of a query, page by page.
    func runQuery(_ request: Google_Firestore_V1_RunQueryRequest) async throws -> PagedResponse {
        let consistency = ConsistencySelector(request.consistencySelector)
        let database = try await readableDatabase(request.parent, consistency)
        let memory = CallOrigin.current?.memory
        let time = try await database.turn(consistency) {
            (coder) throws(LarderError) in
            // A request that is no query of a collection is refused below.
            ReadTargets(queries: [try? coder.decode(request).queryWithOffset].compactMap(\.self))
        }
        return pages { () throws(LarderError) in
            if let answer = try DescendantsResponder(request, database, time, memory) {
                return answer
            }
            let requested = try RequestedQuery(request, database, time)
            guard request.hasExplainOptions || requested.selection.nearest != nil else {
                return QueryResponder(requested, database, memory)
            }
            return ResultResponder(requested, database, request.explainOptions, memory)
        }
    }
}

/// A query of a request.
struct RequestedQuery {
    let coder: MessageCoder
    let selection: QuerySelection
    let time: ReadTime
    /// The query including the documents that the offset skips.
    let query: Query
    /// True if the request asks for an explanation.
    let isExplained: Bool

    init(
        _ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext,
        _ time: ReadTime
    ) throws(LarderError) {
        coder = database.coder()
        selection = try coder.decode(request)
        self.time = time
        query = selection.queryWithOffset
        isExplained = request.hasExplainOptions
    }
}

/// Responds to a query with its results, each document in a response.
///
/// The first response has the number of skipped documents; it is sent without documents, too.
final class QueryResponder: PageSource {
    private let database: DatabaseContext
    private let requested: RequestedQuery
    private let documents: DocumentCursor
    private var skipped = 0
    private var isFirst = true

    init(_ requested: RequestedQuery, _ database: DatabaseContext, _ memory: MemoryAccount?) {
        self.database = database
        self.requested = requested
        let time = requested.time
        // A transaction does not depend on the results of an empty query.
        documents = database.backend.cursor(
            requested.selection.isEmpty ? .paths([]) : .query(requested.query),
            as: database.credentials, in: time.transaction, asOf: time.asOf, memory: memory)
    }

    var cursor: DocumentCursor? { documents }

    func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
        var page = ResponsePage()
        let (version, isLast) = try documents.next(maxBytes: maxBytes) {
            version, _, document throws(LarderError) in
            if skipped < requested.selection.offset {
                skipped += 1
            } else {
                page.messages.append(try message(document, version))
            }
        }
        if isLast, isFirst { page.messages.append(try message(nil, version)) }
        page.isLast = isLast
        return page
    }

    private func message(_ document: Document?, _ version: SnapshotVersion)
        throws(LarderError) -> [UInt8]
    {
        defer { isFirst = false }
        return try requested.coder.encode(
            document, mask: requested.selection.mask,
            readTime: requested.time.readTime(version),
            transaction: isFirst ? requested.time.begun : Data(),
            skippedResults: isFirst ? skipped : 0
        ).encoded()
    }
}
