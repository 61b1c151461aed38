import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderWire
import SwiftProtobuf

/// Responds to a query with results that are held as a whole: those nearest to a vector, or those of
/// a query that is explained.
///
/// The last response has the metrics, if they are asked for; a plan alone has no results.
final class ResultResponder: PageSource {
    private struct Result {
        var documents: ArraySlice<Document>
        let version: SnapshotVersion
        let skipped: Int
        let metrics: Google_Firestore_V1_ExplainMetrics?
    }

    private let requested: RequestedQuery
    private let database: DatabaseContext
    private let options: Google_Firestore_V1_ExplainOptions
    /// Is charged for the results that are held.
    private let memory: MemoryAccount?
    private var result: Result?

    init(
        _ requested: RequestedQuery, _ database: DatabaseContext,
        _ options: Google_Firestore_V1_ExplainOptions, _ memory: MemoryAccount?
    ) {
        self.requested = requested
        self.database = database
        self.options = options
        self.memory = memory?.open()
    }

    deinit {
        memory?.close()
    }

    var cursor: DocumentCursor? { nil }

    func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
        if requested.isExplained, !options.analyze { return try plan() }
        let isFirst = result == nil
        var result: Result
        if let known = self.result { result = known } else { result = try run() }
        var page = ResponsePage()
        page.isLast = false
        var bytes = 0
        var isFirstMessage = isFirst
        while !page.isLast, bytes < maxBytes {
            let document = result.documents.popFirst()
            page.isLast = result.documents.isEmpty
            let message = try message(
                document, result, isFirst: isFirstMessage, isLast: page.isLast)
            page.messages.append(message)
            bytes += message.count
            isFirstMessage = false
        }
        self.result = result
        return page
    }

    private func message(
        _ document: Document?, _ result: Result, isFirst: Bool, isLast: Bool
    ) throws(LarderError) -> [UInt8] {
        let response = try requested.coder.encode(
            document, mask: requested.selection.mask,
            readTime: requested.time.readTime(result.version),
            transaction: isFirst ? requested.time.begun : Data(),
            skippedResults: isFirst ? result.skipped : 0)
        guard isLast, let metrics = result.metrics else { return try response.encoded() }
        var last = Google_Firestore_V1_RunQueryResponse()
        last.explainMetrics = metrics
        // Messages that follow each other are one message.
        return try response.encoded()
            + Response<Google_Firestore_V1_RunQueryResponse>.message(last).encoded()
    }

    private func plan() throws(LarderError) -> ResponsePage {
        var response = Google_Firestore_V1_RunQueryResponse()
        response.explainMetrics.planSummary = .init(
            try database.backend.explain(requested.query), of: requested.selection)
        return ResponsePage(
            messages: [
                try Response<Google_Firestore_V1_RunQueryResponse>.message(response).encoded()
            ])
    }

    // MARK: Running

    private func run() throws(LarderError) -> Result {
        let (selection, time) = (requested.selection, requested.time)
        if let search = selection.nearest {
            let (result, version) = try database.backend.nearest(
                search, of: requested.query, as: database.credentials, in: time.transaction,
                asOf: time.asOf, memory: memory)
            let documents = try result.matches.map { match throws(LarderError) in
                try match.document.adding(search.resultField, match.distance)
            }
            return self.result(documents[...], result.execution, version, skipped: 0)
        }
        guard time.transaction == nil, time.asOf.isNone else {
            throw LarderError(
                .unimplemented,
                "explain with analyze in a transaction or at a read time is not implemented")
        }
        let (result, version) = try database.backend.analyze(requested.query, memory: memory)
        let skipped = min(selection.offset, result.documents.count)
        return self.result(
            selection.isEmpty ? [] : result.documents.dropFirst(skipped), result.execution, version,
            skipped: skipped)
    }

    private func result(
        _ documents: ArraySlice<Document>, _ execution: QueryExecution,
        _ version: SnapshotVersion, skipped: Int
    ) -> Result {
        let metrics =
            requested.isExplained
            ? Google_Firestore_V1_ExplainMetrics(
                execution, of: requested.selection, resultCount: documents.count)
            : nil
        memory?.change(by: documents.reduce(0) { $0 + $1.heldBytes } - (memory?.heldBytes ?? 0))
        return Result(documents: documents, version: version, skipped: skipped, metrics: metrics)
    }
}

extension Document {
    /// The document with a number in a field; as it is without a name.
    fileprivate func adding(_ name: String?, _ number: Double) throws(LarderError) -> Document {
        guard let name, let record else { return self }
        let field = try Record([name: .double(number)])
        return Document(
            path: path, state: state,
            record: try record.patched(with: field, mask: FieldMask([FieldPath([name])])),
            version: version, createTime: createTime, readTime: readTime,
            hasLocalMutations: hasLocalMutations, hasCommittedMutations: hasCommittedMutations,
            largestBatchID: largestBatchID, storedBytes: storedBytes)
    }
}
