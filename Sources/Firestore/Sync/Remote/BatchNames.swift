import LarderDocumentStore
import LarderModel
import LarderRemote

/// The names by which a backend recognizes the batches of a client that it has committed.
///
/// Each message names, besides its own batch, earlier batches that the backend can forget: their
/// answers are in the client's store, so they are not sent again. The first message of a stream
/// also names this process and the client's processes before it. From then on the backend refuses
/// batches on the earlier streams of these processes: they were sent again on the new stream.
package struct BatchNames: Sendable {
    /// The most batches that a message allows the backend to forget.
    private static let maxAnswered = 500

    let client: String
    private let writer: String
    /// The processes that have written for the client before this one.
    private var formerWriters: [String] = []
    /// True once a message on the present stream has carried the names of the processes.
    private var hasNamedWriters = false
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

    /// - Parameters:
    ///   - client: the name of the client's store.
    ///   - writer: the name of this process.
    init(client: String, writer: String) {
        self.client = client
        self.writer = writer
    }

    /// The name of a batch that is being sent.
    mutating func token(for batch: MutationBatch) -> WriteToken {
        let told = Array(answered.prefix(Self.maxAnswered))
        answered.removeFirst(told.count)
        sent.append(told)
        defer { hasNamedWriters = true }
        return WriteToken(
            client: client, write: batch.name, answered: told,
            writer: hasNamedWriters ? nil : writer, former: hasNamedWriters ? [] : formerWriters)
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
        hasNamedWriters = false
        answered = sent.flatMap(\.self) + answered
        sent = []
    }
}

extension MutationBatch {
    fileprivate var name: String {
        nameInRun ?? WriteToken.name(ofWrite: id, at: localWriteTime)
    }
}

extension BatchNames {
    private static let writersName = "firestore.writers"

    /// Adds this process to the processes in the store that have written, and reads those before it.
    ///
    /// To be called for each stream, before the first batch is sent on it.
    ///
    /// - Throws: what the store throws; ``LarderCore/LarderError/leaseLost``.
    mutating func noteWriter(in localStore: LocalStore) throws(LarderError) {
        try localStore.begin(.noteWriter)
        let writer = writer
        formerWriters = try localStore.commit(forAll: true) {
            transaction, shared throws(LarderError) in
            shared = nil
            let stored = try transaction.namedValue(.global, Self.writersName)?.payload ?? []
            let writers = String(decoding: stored, as: UTF8.self)
                .split(separator: " ").map(String.init)
            let former = writers.filter { $0 != writer }.suffix(WriteToken.maxFormer)
            if writers.last != writer {
                let all = (former + [writer]).joined(separator: " ")
                try transaction.putNamedValue(.global, Self.writersName, Array(all.utf8))
            }
            return Array(former)
        }
    }
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
