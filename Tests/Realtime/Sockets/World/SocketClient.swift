import Dispatch
import LarderNetworkTestSupport
import LarderRealtime
import LarderRealtimeWebSocket
import LarderSharedTestSupport
import Logging

/// A client of a world: its proxy, its store and its present process.
final class SocketClient {
    let number: Int
    let proxy: Proxy
    private(set) var database: Database
    private(set) var listeners: [SocketListener] = []
    private let directory: TemporaryDirectory?

    /// A client with a store on disk, or one that forgets.
    init(_ number: Int, isPersistent: Bool, serverPort: Int) async throws {
        self.number = number
        proxy = try await Proxy.started(port: serverPort)
        directory = isPersistent ? try TemporaryDirectory() : nil
        database = try Self.opened(port: proxy.port, directory?.file("store"))
    }

    /// A database whose server is behind a port.
    ///
    /// - Parameter isWitness: the network to the server does not fail; calls wait for it on a busy
    ///   machine, too.
    static func opened(
        port: Int, _ directory: String? = nil, access: DatabaseConfiguration.Access = .exclusive,
        isWitness: Bool = false
    ) throws -> Database {
        let silent = Logger(label: "client") { _ in SwiftLogNoOpLogHandler() }
        var sockets = WebSocketConfiguration()
        if !isWitness {
            // A connection that leads nowhere is to be noticed soon.
            sockets.connectTimeout = .seconds(2)
            sockets.keepaliveInterval = .milliseconds(500)
            sockets.keepaliveTimeout = .seconds(1)
        }
        sockets.logger = silent
        var configuration = DatabaseConfiguration(
            storage: directory.map { .directory($0) } ?? .memory)
        configuration.access = access
        configuration.url = "http://127.0.0.1:\(port)?ns=world"
        configuration.connector = .webSocket(sockets, environment: [:])
        configuration.transactionHandlerWait = .milliseconds(100)
        if isWitness { configuration.serverWait = .seconds(240) }
        configuration.logger = silent
        configuration.callbackQueue = DispatchQueue(label: "client")
        return try Database(configuration: configuration)
    }

    /// Whether its writes outlive its process.
    var isPersistent: Bool { directory != nil }

    /// Ends its process and begins another one.
    func restart() async throws {
        try await end()
        database = try Self.opened(port: proxy.port, directory?.file("store"))
    }

    /// Ends its process.
    func end() async throws {
        listeners = []
        try await database.close()
    }

    func listen(to question: SocketQuestion) {
        listeners.append(SocketListener(question, database))
    }

    func removeListener(_ random: inout SeededRandom) {
        guard !listeners.isEmpty else { return }
        listeners.remove(at: random.below(listeners.count)).end()
    }
}
