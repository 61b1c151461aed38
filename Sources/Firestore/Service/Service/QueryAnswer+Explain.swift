import LarderBackend
import LarderModel
import LarderPlanning
import LarderWire
import SwiftProtobuf

extension QueryAnswer {
    /// Tells how the query is answered and, where it is run, gives the answer and what it took.
    func explain(isRun: Bool, _ give: Give) throws(LarderError) {
        guard isRun else {
            var response = Google_Firestore_V1_RunQueryResponse()
            response.explainMetrics.planSummary = .init(try session.backend.explain(query))
            return try give(.message(response))
        }
        guard moment.transaction == nil, moment.asOf.isNone else {
            throw LarderError(
                .unimplemented, "an analysis in a transaction or of the past is not implemented")
        }
        let (result, version) = try session.backend.analyze(query)
        let documents =
            selection.isEmpty ? [] : result.documents.dropFirst(selection.offset)
        for document in documents {
            let answer = try coder.encode(
                document, mask: selection.mask, readTime: moment.readTime(version))
            try give(answer)
        }
        var last = Google_Firestore_V1_RunQueryResponse()
        last.readTime = .init(moment.readTime(version))
        last.skippedResults = Int32(
            clamping: min(selection.offset, result.documents.count))
        last.explainMetrics = .init(result.execution, resultCount: documents.count)
        try give(.message(last))
    }
}

extension Google_Firestore_V1_ExplainMetrics {
    /// How an answer was found, and what that took.
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
    /// The plan: an entry for each index that it uses, or one for what it does without any.
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
