import GRPCCore
import LarderModel
import LarderWire
import SwiftProtobuf

/// `google.firestore.v1.Firestore` over the databases of a server.
///
/// A class, so that what calls keep of it, some as long as a stream lasts, is a reference.
///
/// Each call is a method in a file of its subject, and throws ``LarderModel/LarderError``;
/// ``CallMonitor`` makes the status of a call of it. What blocks runs on a ``WorkPool``.
final class FirestoreService: Sendable {
    /// The databases.
    let databases: Databases
    /// What is allowed.
    let limits: ServerConfiguration.Limits
    /// Measures calls.
    let monitor: CallMonitor
    /// Where documents and collections are read.
    let readers: WorkPool
    /// Where few documents are read at once.
    let smallReads: SmallReads
    /// Where queries are run: they may wait for their clients.
    let queries: WorkPool
    /// The open streams.
    let streams: StreamCount

    /// A service without open databases.
    init(_ configuration: ServerConfiguration, _ databases: Databases, _ monitor: CallMonitor) {
        self.databases = databases
        self.monitor = monitor
        limits = configuration.limits
        readers = WorkPool("larder.server.read", limit: limits.readers)
        smallReads = SmallReads()
        queries = WorkPool("larder.server.query", limit: limits.readers)
        streams = StreamCount(limit: limits.streams)
    }

    /// The database that a name of a resource begins with.
    func session(_ resource: String) async throws(LarderError) -> Session {
        if let session = try openSession(resource) { return session }
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return Session(DatabaseNames(id), try await databases.database(id))
    }

    /// The database that a name of a resource begins with; nil where it is not open.
    func openSession(_ resource: String) throws(LarderError) -> Session? {
        guard let (names, backend) = try databases.opened(resource) else { return nil }
        monitor.note(names.id)
        return Session(names, backend)
    }

    /// Answers a call from a database where blocking does no harm.
    func read<R: Sendable>(
        _ resource: String,
        _ body: @escaping @Sendable (Session, MessageCoder) throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let session = try await session(resource)
        return try await readers.run { () throws(LarderError) in
            try body(session, session.coder())
        }
    }

    /// Reads on the event loop that asks; nil where that would wait, or nothing is to be read there.
    ///
    /// A transaction's reads come one after the other and may wait for each other.
    func readAtOnce<R>(_ read: SmallRead<R>) throws(LarderError) -> R? {
        guard !read.consistency.isOfTransaction, let session = try openSession(read.resource)
        else { return nil }
        return try smallReads.run { () throws(LarderError) in
            try read.body(session, session.coder())
        }
    }

    /// Reads at once where that does not wait, and where blocking does no harm else.
    func read<R: Sendable>(_ read: SmallRead<R>) async throws(LarderError) -> R {
        if let result = try readAtOnce(read) { return result }
        return try await self.read(read.resource, read.body)
    }

    /// Takes an answer of many; waits, but not for long, while its client is far behind.
    typealias Give<Message: SwiftProtobuf.Message> = (Answer<Message>) throws(LarderError) -> Void

    /// Answers a call with all that a closure gives, at the pace of its client.
    ///
    /// The closure runs where it may wait; it hears with `cancelled` of a client that has left.
    func carry<Message: SwiftProtobuf.Message>(
        to writer: RPCWriter<Answer<Message>>,
        _ body: @escaping @Sendable (Give<Message>) throws(LarderError) -> Void
    ) async throws {
        let pump = Pump<Answer<Message>>(maxBytes: limits.bytesAhead, patience: limits.patience)
        defer { pump.cancel() }
        queries.perform {
            pump.finish(
                Result { () throws(LarderError) in
                    if pump.isCancelled { throw .clientHasLeft }
                    try body { answer throws(LarderError) in
                        try pump.give(answer, bytes: answer.sizeBytes)
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
