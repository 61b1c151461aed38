import Foundation
import GRPCCore
import LarderBackend
import LarderModel
import LarderRemote
import LarderWire

extension FirestoreService {
    /// The size of a batch that is read at once instead of streamed: it fits the limit of a
    /// response in progress, and avoids a change of threads.
    private static let fewDocuments = 4

    /// Reads documents in one snapshot, including missing ones.
    func batchGetDocuments(
        _ request: Google_Firestore_V1_BatchGetDocumentsRequest,
        _ writer: RPCWriter<Response<Google_Firestore_V1_BatchGetDocumentsResponse>>
    ) async throws {
        guard Self.isOfFew(request) else {
            let database = try await database(request.database)
            return try await carry(to: writer) { (give) throws(LarderError) in
                try FoundDocuments(request, database, database.coder()).run(give)
            }
        }
        try await writer.write(contentsOf: try await read(fewDocuments(request)))
    }

    static func isOfFew(_ request: Google_Firestore_V1_BatchGetDocumentsRequest) -> Bool {
        request.documents.count <= fewDocuments
    }

    func fewDocuments(_ request: Google_Firestore_V1_BatchGetDocumentsRequest)
        -> InlineRead<[Response<Google_Firestore_V1_BatchGetDocumentsResponse>]>
    {
        InlineRead(of: request.database, ConsistencySelector(request.consistencySelector)) {
            (database, coder) throws(LarderError) in
            var answers: [Response<Google_Firestore_V1_BatchGetDocumentsResponse>] = []
            try FoundDocuments(request, database, coder).run { answer throws(LarderError) in
                answers.append(answer)
            }
            return answers
        }
    }
}

/// The documents of a request, as responses.
private struct FoundDocuments {
    let database: DatabaseContext
    let coder: MessageCoder
    let paths: [DocumentPath]
    let mask: FieldMask?
    let time: ReadTime

    init(
        _ request: Google_Firestore_V1_BatchGetDocumentsRequest, _ database: DatabaseContext,
        _ coder: MessageCoder
    ) throws(LarderError) {
        self.database = database
        self.coder = coder
        let named = try coder.decode(request)
        // Duplicates have one response.
        var seen: Set<DocumentPath> = []
        paths = named.count > 1 ? named.filter { seen.insert($0).inserted } : named
        mask = request.hasMask ? try coder.decode(request.mask) : nil
        time = try ReadTime(ConsistencySelector(request.consistencySelector), database, coder)
    }

    /// Sends each document in a response: existing ones first, as Cloud Firestore does.
    ///
    /// With a new transaction, or without documents, a response without a document comes first.
    func run(
        _ give: FirestoreService.Give<Google_Firestore_V1_BatchGetDocumentsResponse>
    ) throws(LarderError) {
        var readTime = SnapshotVersion.none
        var missing: [Response<Google_Firestore_V1_BatchGetDocumentsResponse>] = []
        try database.backend.forEachDocument(
            at: paths, as: database.credentials, in: time.transaction, asOf: time.asOf,
            began: { version throws(LarderError) in
                readTime = time.readTime(version)
                guard !time.begun.isEmpty || paths.isEmpty else { return }
                var first = Google_Firestore_V1_BatchGetDocumentsResponse()
                first.transaction = time.begun
                first.readTime = .init(readTime)
                try give(.message(first))
            }
        ) { reading throws(LarderError) in
            let answer = try coder.encode(reading, mask: mask, readTime: readTime)
            if reading.exists { try give(answer) } else { missing.append(answer) }
        }
        for answer in missing { try give(answer) }
    }
}
