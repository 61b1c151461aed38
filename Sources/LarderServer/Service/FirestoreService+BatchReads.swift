import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport

extension FirestoreService {
    /// How many documents of a request are made answers of at a time.
    private static let batchCount = 256

    /// Documents, all as of one moment, those that do not exist among them.
    func batchGetDocuments(
        _ request: Google_Firestore_V1_BatchGetDocumentsRequest,
        _ writer: RPCWriter<Answer<Google_Firestore_V1_BatchGetDocumentsResponse>>
    ) async throws {
        let read = try await read(request.database) { (session, coder) throws(LarderError) in
            // Whatever is named twice is answered once.
            var seen: Set<DocumentPath> = []
            let paths = try coder.decode(request).filter { seen.insert($0).inserted }
            let mask = request.hasMask ? try coder.decode(request.mask) : nil
            let moment = try Moment(Consistency(request.consistencySelector), session, coder)
            let answer = try session.backend.documents(
                at: paths, as: session.credentials, in: moment.transaction,
                asOf: moment.asOf)
            var found = FoundDocuments(
                session: session, moment: moment, mask: mask, version: answer.version,
                rest: answer.readings[...])
            // Most requests are answered with that, and change threads no more than they must.
            let answers = try found.next(Self.batchCount, coder)
            return (found: found, answers: answers)
        }
        var (found, answers) = read
        if !found.moment.begun.isEmpty || answers.isEmpty {
            var first = Google_Firestore_V1_BatchGetDocumentsResponse()
            first.transaction = found.moment.begun
            first.readTime = .init(found.moment.readTime(found.version))
            try await writer.write(.message(first))
        }
        while !answers.isEmpty {
            try await writer.write(contentsOf: answers)
            if found.rest.isEmpty { return }
            (found, answers) = try await readers.run { [found] () throws(LarderError) in
                var found = found
                let answers = try found.next(Self.batchCount, try found.session.coder())
                return (found, answers)
            }
        }
    }
}

/// Documents that were read and are not yet answers.
private struct FoundDocuments: Sendable {
    let session: Session
    let moment: Moment
    let mask: FieldMask?
    /// The commit that they are of.
    let version: SnapshotVersion
    var rest: ArraySlice<DocumentReading>

    /// Makes answers of some more.
    mutating func next(_ count: Int, _ coder: MessageCoder)
        throws(LarderError) -> [Answer<Google_Firestore_V1_BatchGetDocumentsResponse>]
    {
        var answers: [Answer<Google_Firestore_V1_BatchGetDocumentsResponse>] = []
        for reading in rest.prefix(count) {
            answers.append(
                try coder.encode(reading, mask: mask, readTime: moment.readTime(version)))
        }
        rest.removeFirst(answers.count)
        return answers
    }
}
