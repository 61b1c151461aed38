import LarderDocumentStore
import LarderModel
import LarderRemote

/// The names by which a backend recognizes the batches of a client that it has committed.
///
/// Each message names, besides its own batch, earlier batches that the backend can forget: their
/// answers are in the client's store, so they are not sent again.
struct BatchNames: Sendable {
    /// The most batches that a message allows the backend to forget.
    private static let maxAnswered = 500

    private let client: String
    /// The names of batches whose answers have arrived and are not stored yet.
    private var unstored: [Int64: String] = [:]
    /// The names of batches whose answers the last commit of answers has stored.
    ///
    /// A power failure may lose that commit.
    private var lastStored: [String] = []
    /// The batches that the backend can forget, and has not been told of.
    private var answered: [String] = []
    /// The batches that each message without an answer allows the backend to forget.
    private var sent: ArraySlice<[String]> = []

    /// - Parameter client: the name of the client's store.
    init(client: String) {
        self.client = client
    }

    /// The name of a batch that is being sent.
    mutating func token(for batch: MutationBatch) -> WriteToken {
        let told = Array(answered.prefix(Self.maxAnswered))
        answered.removeFirst(told.count)
        sent.append(told)
        return WriteToken(client: client, write: batch.name, answered: told)
    }

    /// The oldest message that was sent was answered.
    mutating func receiveAnswer(to batch: MutationBatch) {
        _ = sent.popFirst()
        unstored[batch.id] = batch.name
    }

    /// A commit has stored the answers to batches.
    mutating func noteStored(_ batchIDs: [Int64]) {
        answered += lastStored
        lastStored = batchIDs.compactMap { unstored.removeValue(forKey: $0) }
    }

    /// The messages without an answer may not have arrived.
    mutating func endStream() {
        answered = sent.flatMap(\.self) + answered
        sent = []
    }
}

extension MutationBatch {
    fileprivate var name: String { WriteToken.name(ofWrite: id, at: localWriteTime) }
}

extension Store {
    private static let clientNameName = "firestore.client"

    /// The name of the store's clients at backends, which is made when the store is first used with
    /// one.
    func clientName(orMake make: () -> String) throws(LarderError) -> String {
        let stored = try read { (transaction) throws(LarderError) in
            try transaction.namedValue(.global, Self.clientNameName)
        }
        if let stored { return String(decoding: stored.payload, as: UTF8.self) }
        return try write { transaction throws(LarderError) in
            try transaction.obtainClientName(Self.clientNameName, orMake: make)
        }
    }
}
