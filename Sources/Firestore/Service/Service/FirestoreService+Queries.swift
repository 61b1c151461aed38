import Foundation
import GRPCCore
import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import LarderWire

extension FirestoreService {
    /// The documents that a query matches, one after the other as they are found.
    func runQuery(
        _ request: Google_Firestore_V1_RunQueryRequest,
        _ writer: RPCWriter<Answer<Google_Firestore_V1_RunQueryResponse>>
    ) async throws {
        let session = try await session(request.parent)
        try await carry(to: writer) { (give) throws(LarderError) in
            if let answer = try DescendantsAnswer(request, session) {
                return try answer.run(give)
            }
            let answer = try QueryAnswer(request, session)
            if request.hasExplainOptions {
                try answer.explain(isRun: request.explainOptions.analyze, give)
            } else {
                try answer.run(give)
            }
        }
    }
}

/// What a query finds, as answers.
struct QueryAnswer {
    /// Takes an answer.
    typealias Give = FirestoreService.Give<Google_Firestore_V1_RunQueryResponse>

    let session: Session
    let coder: MessageCoder
    let selection: QuerySelection
    let moment: Moment
    /// The query with those documents that an offset leaves out.
    let query: Query

    init(_ request: Google_Firestore_V1_RunQueryRequest, _ session: Session) throws(LarderError) {
        self.session = session
        coder = session.coder()
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
            try give(answer)
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
