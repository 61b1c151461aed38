import Foundation
import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderQuery
import LarderTransport

extension FirestoreService {
    /// The documents that a query matches, one after the other as they are found.
    func runQuery(
        _ request: Google_Firestore_V1_RunQueryRequest,
        _ writer: RPCWriter<Answer<Google_Firestore_V1_RunQueryResponse>>
    ) async throws {
        let session = try await session(request.parent)
        let pump = Pump<Answer<Google_Firestore_V1_RunQueryResponse>>(
            maxBytes: limits.bytesAhead, patience: limits.patience)
        defer { pump.cancel() }
        queries.perform {
            pump.finish(
                Result { () throws(LarderError) in
                    if pump.isCancelled { throw .clientHasLeft }
                    if let answer = try DescendantsAnswer(request, session) {
                        return try answer.run(pump.give)
                    }
                    let answer = try QueryAnswer(request, session)
                    if request.hasExplainOptions {
                        try answer.explain(isRun: request.explainOptions.analyze, pump.give)
                    } else {
                        try answer.run(pump.give)
                    }
                })
        }
        try await withRPCCancellationHandler {
            while let answers = try await pump.take() {
                try await writer.write(contentsOf: answers)
            }
        } onCancelRPC: {
            pump.cancel()
        }
    }
}

/// What a query finds, as answers.
struct QueryAnswer {
    /// Takes an answer and about how many bytes it has.
    typealias Give =
        (Answer<Google_Firestore_V1_RunQueryResponse>, Int) throws(LarderError) -> Void

    /// About what an answer has beside its document's fields.
    private static let overheadBytes = 200

    let session: Session
    let coder: MessageCoder
    let selection: QuerySelection
    let moment: Moment
    /// The query with those documents that an offset leaves out.
    let query: Query

    init(_ request: Google_Firestore_V1_RunQueryRequest, _ session: Session) throws(LarderError) {
        self.session = session
        coder = try session.coder()
        selection = try coder.decode(request)
        moment = try Moment(Consistency(request.consistencySelector), session, coder)
        query = selection.queryWithOffset
    }

    /// Gives the documents, each in an answer.
    ///
    /// The first answer says how many an offset left out; without documents it comes alone.
    func run(_ give: Give) throws(LarderError) {
        var skipped = 0
        var isFirst = true
        var readTime = SnapshotVersion.none
        func tell(_ document: Document?) throws(LarderError) {
            let answer = try coder.encode(
                document, mask: selection.mask, readTime: moment.readTime(readTime),
                transaction: isFirst ? moment.begun : Data(), skippedResults: isFirst ? skipped : 0)
            isFirst = false
            try give(answer, Int(document?.record?.sizeBytes ?? 0) + Self.overheadBytes)
        }
        if selection.isEmpty {
            // A transaction does not rest on what the query would find.
            readTime =
                try session.backend.documents(
                    at: [], as: session.credentials, in: moment.transaction, asOf: moment.asOf
                ).version
            return try tell(nil)
        }
        readTime = try session.backend.runQuery(
            query, as: session.credentials, in: moment.transaction, asOf: moment.asOf,
            began: { version throws(LarderError) in readTime = version }
        ) { document throws(LarderError) in
            if skipped < selection.offset {
                skipped += 1
            } else {
                try tell(document)
            }
            return .continue
        }
        if isFirst { try tell(nil) }
    }
}

extension QuerySelection {
    /// The query with those documents that the offset leaves out.
    var queryWithOffset: Query {
        var query = query
        if case .first(let count)? = query.limit {
            query.limit = .first(count.addingReportingOverflow(offset).partialValue)
        }
        return query
    }
}
