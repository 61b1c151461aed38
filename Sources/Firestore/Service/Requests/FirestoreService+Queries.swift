import Foundation
import GRPCCore
import LarderBackend
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderWire
import SwiftProtobuf

extension FirestoreService {
    /// Streams the results of a query as they are found.
    func runQuery(
        _ request: Google_Firestore_V1_RunQueryRequest,
        _ writer: RPCWriter<Response<Google_Firestore_V1_RunQueryResponse>>
    ) async throws {
        let database = try await database(request.parent)
        try await carry(to: writer) { (give) throws(LarderError) in
            if let answer = try DescendantsResponder(request, database) {
                return try answer.run(give)
            }
            let answer = try QueryResponder(request, database)
            if request.hasExplainOptions {
                try answer.explain(isRun: request.explainOptions.analyze, give)
            } else {
                try answer.run(give)
            }
        }
    }
}

/// Responds to a query with its results.
struct QueryResponder {
    typealias Give = FirestoreService.Give<Google_Firestore_V1_RunQueryResponse>

    let database: DatabaseContext
    let coder: MessageCoder
    let selection: QuerySelection
    let time: ReadTime
    /// The query including the documents that the offset skips.
    let query: Query

    init(_ request: Google_Firestore_V1_RunQueryRequest, _ database: DatabaseContext)
        throws(LarderError)
    {
        self.database = database
        coder = database.coder()
        selection = try coder.decode(request)
        time = try ReadTime(ConsistencySelector(request.consistencySelector), database, coder)
        query = selection.queryWithOffset
    }

    /// Sends each document in a response.
    ///
    /// The first response has the number of skipped documents; it is sent without documents, too.
    func run(_ give: Give) throws(LarderError) {
        var skipped = 0
        var isFirst = true
        var readTime = SnapshotVersion.none
        func send(_ document: Document?) throws(LarderError) {
            let answer = try coder.encode(
                document, mask: selection.mask, readTime: time.readTime(readTime),
                transaction: isFirst ? time.begun : Data(), skippedResults: isFirst ? skipped : 0)
            isFirst = false
            try give(answer)
        }
        if selection.isEmpty {
            // The transaction does not depend on the results of the query.
            readTime =
                try database.backend.documents(
                    at: [], as: database.credentials, in: time.transaction, asOf: time.asOf
                ).version
            return try send(nil)
        }
        readTime = try database.backend.runQuery(
            query, as: database.credentials, in: time.transaction, asOf: time.asOf,
            began: { version throws(LarderError) in readTime = version }
        ) { document throws(LarderError) in
            if skipped < selection.offset {
                skipped += 1
            } else {
                try send(document)
            }
            return .continue
        }
        if isFirst { try send(nil) }
    }
}

extension QuerySelection {
    /// The query including the documents that the offset skips.
    var queryWithOffset: Query {
        var query = query
        if case .first(let count)? = query.limit {
            query.limit = .first(count.addingReportingOverflow(offset).partialValue)
        }
        return query
    }
}

// MARK: - Explanations

extension QueryResponder {
    /// Sends the query's plan and, if it is run, its results and statistics.
    func explain(isRun: Bool, _ give: Give) throws(LarderError) {
        guard isRun else {
            var response = Google_Firestore_V1_RunQueryResponse()
            response.explainMetrics.planSummary = .init(try database.backend.explain(query))
            return try give(.message(response))
        }
        guard time.transaction == nil, time.asOf.isNone else {
            throw LarderError(
                .unimplemented,
                "explain with analyze in a transaction or at a read time is not implemented")
        }
        let (result, version) = try database.backend.analyze(query)
        let documents =
            selection.isEmpty ? [] : result.documents.dropFirst(selection.offset)
        for document in documents {
            let answer = try coder.encode(
                document, mask: selection.mask, readTime: time.readTime(version))
            try give(answer)
        }
        var last = Google_Firestore_V1_RunQueryResponse()
        last.readTime = .init(time.readTime(version))
        last.skippedResults = Int32(
            clamping: min(selection.offset, result.documents.count))
        last.explainMetrics = .init(result.execution, resultCount: documents.count)
        try give(.message(last))
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
