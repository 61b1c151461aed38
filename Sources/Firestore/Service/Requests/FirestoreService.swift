import GRPCCore
import LarderHTTP
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
    let inlineReads: InlineReadPolicy
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
        inlineReads = InlineReadPolicy()
        queries = WorkPool("larder.server.query", limit: limits.readers)
        streams = StreamCount(limit: limits.streams)
    }

    /// The database that a name of a resource begins with.
    func database(_ resource: String) async throws(LarderError) -> DatabaseContext {
        if let database = try openDatabase(resource) { return database }
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return DatabaseContext(DatabaseNames(id), try await databases.database(id))
    }

    /// The database that a name of a resource begins with; nil where it is not open.
    func openDatabase(_ resource: String) throws(LarderError) -> DatabaseContext? {
        guard let (names, backend) = try databases.opened(resource) else { return nil }
        monitor.note(names.id)
        return DatabaseContext(names, backend)
    }

    /// Answers a call from a database where blocking does no harm.
    func read<R: Sendable>(
        _ resource: String,
        _ body: @escaping @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let database = try await database(resource)
        return try await readers.runInCall { () throws(LarderError) in
            try body(database, database.coder())
        }
    }

    /// Reads on the event loop that asks; nil where that would wait, or nothing is to be read there.
    ///
    /// A transaction's reads come one after the other and may wait for each other.
    func readInline<R>(_ read: InlineRead<R>) throws(LarderError) -> R? {
        guard !read.consistency.isOfTransaction, let database = try openDatabase(read.resource)
        else { return nil }
        return try inlineReads.run { () throws(LarderError) in
            try read.body(database, database.coder())
        }
    }

    /// Reads at once where that does not wait, and where blocking does no harm else.
    func read<R: Sendable>(_ read: InlineRead<R>) async throws(LarderError) -> R {
        if let result = try readInline(read) { return result }
        return try await self.read(read.resource, read.body)
    }

    /// Takes an answer of many; waits, but not for long, while its client is far behind.
    typealias Give<Message: SwiftProtobuf.Message> = (Response<Message>) throws(LarderError) -> Void

    /// Answers a call with all that a closure gives, at the pace of its client.
    ///
    /// The closure runs where it may wait; it hears with `cancelled` of a client that has left.
    func carry<Message: SwiftProtobuf.Message>(
        to writer: RPCWriter<Response<Message>>,
        _ body: @escaping @Sendable (Give<Message>) throws(LarderError) -> Void
    ) async throws {
        let responses = BackpressuredQueue<Response<Message>>(
            maxBytes: limits.bytesAhead, timeout: limits.patience)
        defer { responses.cancel() }
        queries.perform {
            responses.finish(
                Result { () throws(LarderError) in
                    if responses.isCancelled { throw .clientHasLeft }
                    try body { answer throws(LarderError) in
                        try responses.append(answer, bytes: answer.sizeBytes)
                    }
                })
        }
        try await withRPCCancellationHandler {
            while let next = try await responses.take() {
                try await writer.write(contentsOf: next)
            }
        } onCancelRPC: {
            responses.cancel()
        }
    }
}

extension WorkPool {
    /// Runs a closure on a thread of the pool for a call, and returns its result.
    ///
    /// - Throws: the closure's error; `cancelled`, without running it, if the call has ended before
    ///   its turn.
    func runInCall<R: Sendable>(
        _ work: @escaping @Sendable () throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let isCancelled = AtomicFlag()
        // Calls on their connection are cancelled by their task, long ones by gRPC.
        let result: Result<R, LarderError> = await withRPCCancellationHandler {
            do throws(LarderError) {
                return .success(try await run(isCancelled: isCancelled, work))
            } catch {
                return .failure(error)
            }
        } onCancelRPC: {
            isCancelled.set()
        }
        return try result.get()
    }
}
