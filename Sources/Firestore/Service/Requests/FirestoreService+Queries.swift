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
        let database = try await readableDatabase(
            request.parent, ConsistencySelector(request.consistencySelector))
        let memory = CallOrigin.current?.memory
        return pages { () throws(LarderError) in
            if let answer = try DescendantsResponder(request, database, memory) { return answer }
            guard request.hasExplainOptions else {
                return try QueryResponder(request, database, memory)
            }
            return try ExplainResponder(request, database)
        }
    }
}

/// A query of a request.
private struct RequestedQuery {
    let coder: MessageCoder
    let selection: QuerySelection
    let time: ReadTime
    /// The query including the documents that the offset skips.
    let query: Query

    init(_ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext)
        throws(LarderError)
    {
        coder = database.coder()
        selection = try coder.decode(request)
        time = try ReadTime(ConsistencySelector(request.consistencySelector), database, coder)
        query = selection.queryWithOffset
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

    init(
        _ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext,
        _ memory: MemoryAccount?
    ) throws(LarderError) {
        self.database = database
        requested = try RequestedQuery(request, database)
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

// MARK: - Explanations

/// Responds with the plan of a query and, if it is run, its results and statistics.
private final class ExplainResponder: PageSource {
    private typealias Answer = Response<Google_Firestore_V1_RunQueryResponse>

    private let database: DatabaseContext
    private let requested: RequestedQuery
    private let isRun: Bool

    init(_ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext)
        throws(LarderError)
    {
        self.database = database
        requested = try RequestedQuery(request, database)
        isRun = request.explainOptions.analyze
    }

    var cursor: DocumentCursor? { nil }

    func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
        let (query, selection, time) = (requested.query, requested.selection, requested.time)
        guard isRun else {
            var response = Google_Firestore_V1_RunQueryResponse()
            response.explainMetrics.planSummary = .init(try database.backend.explain(query))
            return ResponsePage(messages: [try Answer.message(response).encoded()])
        }
        guard time.transaction == nil, time.asOf.isNone else {
            throw LarderError(
                .unimplemented,
                "explain with analyze in a transaction or at a read time is not implemented")
        }
        let (result, version) = try database.backend.analyze(
            query, memory: database.origin?.memory)
        let documents =
            selection.isEmpty ? [] : result.documents.dropFirst(selection.offset)
        var page = ResponsePage()
        for document in documents {
            let answer = try requested.coder.encode(
                document, mask: selection.mask, readTime: time.readTime(version))
            page.messages.append(try answer.encoded())
        }
        var last = Google_Firestore_V1_RunQueryResponse()
        last.readTime = .init(time.readTime(version))
        last.skippedResults = Int32(
            clamping: min(selection.offset, result.documents.count))
        last.explainMetrics = .init(result.execution, resultCount: documents.count)
        page.messages.append(try Answer.message(last).encoded())
        return page
    }
}

extension Google_Firestore_V1_ExplainMetrics {
    /// The plan and the statistics of an execution.
    init(_ execution: QueryExecution, resultCount: Int) {
        self.init()
        planSummary = .init(execution)
        executionStats.resultsReturned = Int64(resultCount)
        executionStats.readOperations = Int64(max(resultCount, 1))
        executionStats.executionDuration = .init(
            seconds: execution.microseconds / 1_000_000,
            nanos: Int32(execution.microseconds % 1_000_000) * 1_000)
        executionStats.debugStats = .init(fields: [
            "documents_scanned": .init(stringValue: "\(execution.documentsScanned)"),
            "index_entries_scanned": .init(stringValue: "\(execution.indexEntriesScanned)"),
            "bytes_read": .init(stringValue: "\(execution.bytesRead)"),
        ])
    }
}

extension Google_Firestore_V1_PlanSummary {
    /// The plan: an entry for each index, or one for a scan.
    init(_ execution: QueryExecution) {
        self.init()
        let indexes = execution.indexes
        let uses = indexes.isEmpty ? ["(__name__ ASC)"] : indexes
        indexesUsed = uses.map { index in
            .init(fields: [
                "query_scope": .init(
                    stringValue: execution.kind == .groupScan ? "Collection group" : "Collection"),
                "properties": .init(stringValue: index),
                "plan": .init(stringValue: execution.description),
            ])
        }
    }
}
