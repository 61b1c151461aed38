import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire

extension FirestoreService {
    /// The size of a batch that is read at once instead of streamed: it fits the limit of a
    /// response in progress, and avoids a change of threads.
    private static let fewDocuments = 4

    /// Reads documents in one snapshot, including missing ones.
    func batchGetDocuments(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        async throws -> PagedResponse
    {
        let consistency = ConsistencySelector(request.consistencySelector)
        let database = try await readableDatabase(request.database, consistency)
        let memory = CallOrigin.current?.memory
        let time = try await database.turn(consistency, toRead: Self.targets(request))
        return pages { () throws(LarderError) in
            try FoundDocuments(request, database, time, memory)
        }
    }

    private static func targets(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        -> @Sendable (MessageCoder) throws(LarderError) -> ReadTargets
    {
        { (coder) throws(LarderError) in ReadTargets(paths: try coder.decode(request)) }
    }

    /// The read of a small batch; nil for a large one.
    func fewDocuments(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        -> InlineRead<[Response<Google_Firestore_V1_BatchGetDocumentsResponse>]>?
    {
        guard request.documents.count <= Self.fewDocuments else { return nil }
        return InlineRead(
            of: request.database, ConsistencySelector(request.consistencySelector),
            Self.targets(request)
        ) { (database, _, time) throws(LarderError) in
            try FoundDocuments(request, database, time, nil).all()
        }
    }
}

/// The documents of a request, as responses: existing ones first, as Cloud Firestore does.
///
/// With a new transaction, a response without a document comes first.
private final class FoundDocuments: PageSource {
    private typealias Answer = Response<Google_Firestore_V1_BatchGetDocumentsResponse>

    private let database: DatabaseContext
    private let coder: MessageCoder
    private let paths: [DocumentPath]
    private let mask: FieldMask?
    private let time: ReadTime
    private let documents: DocumentCursor
    private var hasBegun = false
    private var missing: [Answer] = []

    init(
        _ request: Google_Firestore_V1_BatchGetDocumentsRequest, _ database: DatabaseContext,
        _ time: ReadTime, _ memory: MemoryAccount?
    ) throws(LarderError) {
        self.database = database
        self.time = time
        coder = database.coder()
        let named = try coder.decode(request)
        // Duplicates have one response.
        var seen: Set<DocumentPath> = []
        paths = named.count > 1 ? named.filter { seen.insert($0).inserted } : named
        mask = request.hasMask ? try coder.decode(request.mask) : nil
        documents = database.backend.cursor(
            .paths(paths), as: database.credentials, in: time.transaction, asOf: time.asOf,
            memory: memory)
    }

    var cursor: DocumentCursor? { documents }

    func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
        var page = ResponsePage()
        page.isLast = try next(maxBytes) { (answer) throws(LarderError) in
            page.messages.append(try answer.encoded())
        }
        return page
    }

    /// All responses.
    func all() throws(LarderError) -> [Response<Google_Firestore_V1_BatchGetDocumentsResponse>] {
        var answers: [Answer] = []
        _ = try next(.max) { answers.append($0) }
        return answers
    }

    /// Passes the next responses to a closure.
    ///
    /// - Returns: whether none follow.
    private func next(
        _ maxBytes: Int, _ give: (Answer) throws(LarderError) -> Void
    ) throws(LarderError) -> Bool {
        func begin(_ version: SnapshotVersion) throws(LarderError) {
            guard !hasBegun else { return }
            hasBegun = true
            guard !time.begun.isEmpty else { return }
            var first = Google_Firestore_V1_BatchGetDocumentsResponse()
            first.transaction = time.begun
            first.readTime = .init(time.readTime(version))
            try give(.message(first))
        }
        let (version, isLast) = try documents.next(maxBytes: maxBytes) {
            version, path, document throws(LarderError) in
            try begin(version)
            let reading =
                document.map(DocumentReading.init(found:))
                ?? DocumentReading(path: path, contents: .absent, version: version)
            let answer = try coder.encode(reading, mask: mask, readTime: time.readTime(version))
            if reading.exists { try give(answer) } else { missing.append(answer) }
        }
        try begin(version)
        if isLast { for answer in missing { try give(answer) } }
        return isLast
    }
}
