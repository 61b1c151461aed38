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
        _ writer: RPCWriter<Google_Firestore_V1_RunQueryResponse>
    ) async throws {
        let session = try await session(request.parent)
        let pump = Pump<Google_Firestore_V1_RunQueryResponse>(
            maxBytes: limits.bytesAhead, patience: limits.patience)
        defer { pump.cancel() }
        queries.perform {
            pump.finish(
                Result { () throws(LarderError) in
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
        while let responses = try await pump.take() {
            try await writer.write(contentsOf: responses)
        }
    }
}

/// What a query finds, as messages.
struct QueryAnswer {
    /// Takes a message and about how many bytes it has.
    typealias Give = (Google_Firestore_V1_RunQueryResponse, Int) throws(LarderError) -> Void

    /// About what a message has beside its document's fields.
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

    /// Gives the documents, each in a message.
    ///
    /// The first message says how many an offset left out; without documents it comes alone.
    func run(_ give: Give) throws(LarderError) {
        var skipped = 0
        var isFirst = true
        var readTime = SnapshotVersion.none
        func message() -> Google_Firestore_V1_RunQueryResponse {
            var message = Google_Firestore_V1_RunQueryResponse()
            message.readTime = moment.readTime(readTime)
            if isFirst {
                message.transaction = moment.begun
                message.skippedResults = Int32(clamping: skipped)
            }
            isFirst = false
            return message
        }
        if selection.isEmpty {
            // A transaction does not rest on what the query would find.
            readTime =
                try session.backend.documents(
                    at: [], as: session.credentials, in: moment.transaction, asOf: moment.asOf
                ).version
            return try give(message(), Self.overheadBytes)
        }
        let version = try session.backend.runQuery(
            query, as: session.credentials, in: moment.transaction, asOf: moment.asOf,
            began: { version throws(LarderError) in readTime = version }
        ) { document throws(LarderError) in
            if skipped < selection.offset {
                skipped += 1
                return .continue
            }
            var response = message()
            if let found = try coder.encode(document, mask: selection.mask) {
                response.document = found
            }
            try give(response, Int(document.record?.sizeBytes ?? 0) + Self.overheadBytes)
            return .continue
        }
        readTime = version
        if isFirst { try give(message(), Self.overheadBytes) }
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
