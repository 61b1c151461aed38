import GRPCCore
import LarderHTTP
import LarderModel
import LarderWire
import SwiftProtobuf

/// `google.firestore.v1.Firestore` over the databases of a server.
///
/// Each RPC is a method in the file of its subject and throws ``LarderCore/LarderError``, which
/// ``CallMonitor`` converts to a status. Blocking work runs on a ``LarderHTTP/WorkPool``.
final class FirestoreService: Sendable {
    let databases: Databases
    let limits: ServerConfiguration.Limits
    let monitor: CallMonitor
    /// Threads for reads of documents and collections.
    let readers: WorkPool
    let inlineReads: InlineReadPolicy
    /// Threads for queries, which may wait for their clients.
    let queries: WorkPool
    let streams: StreamCount

    init(_ configuration: ServerConfiguration, _ databases: Databases, _ monitor: CallMonitor) {
        self.databases = databases
        self.monitor = monitor
        limits = configuration.limits
        readers = WorkPool("larder.server.read", limit: limits.readers)
        inlineReads = InlineReadPolicy()
        queries = WorkPool("larder.server.query", limit: limits.readers)
        streams = StreamCount(limit: limits.streams)
    }

    func database(_ resource: String) async throws(LarderError) -> DatabaseContext {
        if let database = try openDatabase(resource) { return database }
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return DatabaseContext(DatabaseNames(id), try await databases.database(id))
    }

    /// The database of a resource name; nil if it is not open.
    func openDatabase(_ resource: String) throws(LarderError) -> DatabaseContext? {
        guard let (names, backend) = try databases.opened(resource) else { return nil }
        monitor.note(names.id)
        return DatabaseContext(names, backend)
    }

    /// Reads a database on a thread that may block.
    func read<R: Sendable>(
        _ resource: String,
        _ body: @escaping @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let database = try await database(resource)
        return try await readers.runInCall { () throws(LarderError) in
            try body(database, database.coder())
        }
    }

    /// Reads on the calling event loop; nil, without reading, if that may block.
    ///
    /// A transaction's reads are serialised and may wait for each other.
    func readInline<R>(_ read: InlineRead<R>) throws(LarderError) -> R? {
        guard !read.consistency.isOfTransaction, let database = try openDatabase(read.resource)
        else { return nil }
        return try inlineReads.run { () throws(LarderError) in
            try read.body(database, database.coder())
        }
    }

    /// Reads inline if that does not block, else on another thread.
    func read<R: Sendable>(_ read: InlineRead<R>) async throws(LarderError) -> R {
        if let result = try readInline(read) { return result }
        return try await self.read(read.resource, read.body)
    }

    /// Sends one of several responses; blocks for a limited time while the client is far behind.
    typealias Give<Message: SwiftProtobuf.Message> = (Response<Message>) throws(LarderError) -> Void

    /// Sends the responses of a closure at the pace of the client.
    ///
    /// The closure runs on a thread that may block; sending to a client that has left throws
    /// `cancelled`.
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
