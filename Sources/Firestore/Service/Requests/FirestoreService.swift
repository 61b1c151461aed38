import LarderHTTP
import LarderModel
import LarderWire

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
    /// Threads for queries.
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
        if let database = try openDatabase(resource) { return database.ofCurrentCall }
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return DatabaseContext(DatabaseNames(id), try await databases.database(id)).ofCurrentCall
    }

    /// The database of a resource name for a read; an empty one stands for one that does not exist,
    /// unless the read begins a transaction that may write.
    func readableDatabase(_ resource: String, _ consistency: ConsistencySelector = .newest)
        async throws(LarderError) -> DatabaseContext
    {
        if let database = try openDatabase(resource) { return database.ofCurrentCall }
        if case .newTransaction = consistency { return try await database(resource) }
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return DatabaseContext(DatabaseNames(id), try await databases.readableDatabase(id))
            .ofCurrentCall
    }

    /// The database of a resource name; nil if it is not open.
    func openDatabase(_ resource: String) throws(LarderError) -> DatabaseContext? {
        guard let (names, backend) = try databases.opened(resource) else { return nil }
        monitor.note(names.id)
        return DatabaseContext(names, backend)
    }

    /// Reads a database on a thread that may block.
    func read<R: Sendable>(
        _ resource: String, _ consistency: ConsistencySelector = .newest,
        _ body: @escaping @Sendable (DatabaseContext, MessageCoder) throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let database = try await readableDatabase(resource, consistency)
        return try await readers.run(awaitsClient: true) { () throws(LarderError) in
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
            let coder = database.coder()
            return try read.body(database, coder, try ReadTime(read.consistency, database, coder))
        }
    }

    /// Reads inline if that does not block, else on another thread.
    func read<R: Sendable>(_ read: InlineRead<R>) async throws(LarderError) -> R {
        if let result = try readInline(read) { return result }
        let database = try await readableDatabase(read.resource, read.consistency)
        let time = try await database.turn(read.consistency, toRead: read.targets)
        return try await readers.run(awaitsClient: true) { () throws(LarderError) in
            try read.body(database, database.coder(), time)
        }
    }

    /// A response that is produced page by page on the threads of queries.
    func pages(
        _ open: @escaping @Sendable () throws(LarderError) -> any PageSource
    ) -> PagedResponse {
        PagedResponse(on: queries, maxBytes: min(limits.listPageBytes, Self.pageBytes), open)
    }

    /// The approximate size of a page of a response.
    private static let pageBytes = 256 << 10
}
