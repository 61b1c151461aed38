import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport

extension FirestoreService {
    /// How many documents of a request are made messages of at a time.
    private static let batchCount = 256

    /// Documents, all as of one moment, those that do not exist among them.
    func batchGetDocuments(
        _ request: Google_Firestore_V1_BatchGetDocumentsRequest,
        _ writer: RPCWriter<Google_Firestore_V1_BatchGetDocumentsResponse>
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
            let first = try found.next(Self.batchCount, coder)
            return (found: found, first: first)
        }
        var (found, messages) = read
        if !found.moment.begun.isEmpty || messages.isEmpty {
            var first = Google_Firestore_V1_BatchGetDocumentsResponse()
            first.transaction = found.moment.begun
            first.readTime = found.moment.readTime(found.version)
            try await writer.write(first)
        }
        while !messages.isEmpty {
            try await writer.write(contentsOf: messages)
            if found.rest.isEmpty { return }
            (found, messages) = try await readers.run { [found] () throws(LarderError) in
                var found = found
                let messages = try found.next(Self.batchCount, try found.session.coder())
                return (found, messages)
            }
        }
    }
}

/// Documents that were read and are not yet messages.
private struct FoundDocuments: Sendable {
    let session: Session
    let moment: Moment
    let mask: FieldMask?
    /// The commit that they are of.
    let version: SnapshotVersion
    var rest: ArraySlice<DocumentReading>

    /// Makes messages of some more.
    mutating func next(_ count: Int, _ coder: MessageCoder)
        throws(LarderError) -> [Google_Firestore_V1_BatchGetDocumentsResponse]
    {
        var messages: [Google_Firestore_V1_BatchGetDocumentsResponse] = []
        for reading in rest.prefix(count) {
            var message = try coder.encode(reading, mask: mask, readTime: version)
            message.readTime = moment.readTime(version)
            messages.append(message)
        }
        rest.removeFirst(messages.count)
        return messages
    }
}
