import GRPCCore
import LarderModel
import LarderProtocol

/// `google.firestore.v1.Firestore` over the databases of a server.
///
/// Each call is a method in a file of its subject, and throws ``LarderModel/LarderError``;
/// ``CallMonitor`` makes the status of a call of it. What blocks runs on a ``WorkPool``.
struct FirestoreService: Sendable {
    /// The databases.
    let databases: Databases
    /// What is allowed.
    let limits: ServerConfiguration.Limits
    /// Measures calls.
    let monitor: CallMonitor
    /// Where documents and collections are read.
    let readers: WorkPool
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
        queries = WorkPool("larder.server.query", limit: limits.readers)
        streams = StreamCount(limit: limits.streams)
    }

    /// The database that a name of a resource begins with.
    func session(_ resource: String) async throws(LarderError) -> Session {
        let id = try DatabaseID(ofResource: resource)
        monitor.note(id)
        return Session(id: id, backend: try await databases.database(id))
    }

    /// Answers a call from a database where blocking does no harm.
    func read<R: Sendable>(
        _ resource: String,
        _ body: @escaping @Sendable (Session, MessageCoder) throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let session = try await session(resource)
        return try await readers.run { () throws(LarderError) in
            try body(session, try session.coder())
        }
    }
}
