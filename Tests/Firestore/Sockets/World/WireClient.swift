import Dispatch
import Larder
import LarderGRPC
import LarderModel
import LarderNetworkTestSupport
import LarderTestSupport
import Testing

/// A client of a world: its proxy, its store and its present process.
final class WireClient {
    let number: Int
    let proxy: Proxy
    private let server: WireServer
    private let directory: TemporaryDirectory?
    private let ledger: WireLedger
    private(set) var db: Firestore
    private var cloud: CloudFirestore
    private(set) var listeners: [WireListener] = []
    private var listenerCount = 0

    /// A client with a store on disk, or one that forgets.
    init(_ number: Int, isPersistent: Bool, _ server: WireServer, _ ledger: WireLedger)
        async throws
    {
        self.number = number
        self.server = server
        self.ledger = ledger
        proxy = try await Proxy.started(port: server.port)
        directory = isPersistent ? try TemporaryDirectory() : nil
        (cloud, db) = try Self.opened(server, proxy, directory, number)
    }

    private static func opened(
        _ server: WireServer, _ proxy: Proxy, _ directory: TemporaryDirectory?, _ number: Int
    ) throws -> (CloudFirestore, Firestore) {
        let cloud = try server.connection(port: proxy.port, project: WireWorld.project) {
            // A connection that leads nowhere is to be noticed soon.
            $0.connectTimeout = .seconds(2)
            $0.keepaliveInterval = .milliseconds(500)
            $0.keepaliveTimeout = .seconds(1)
        }
        var configuration =
            directory.map { FirestoreConfiguration(directory: $0.file("store")) } ?? .inMemory
        configuration.project = WireWorld.project
        configuration.backend = cloud.connection
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = DispatchQueue(label: "client \(number)")
        return (cloud, try Firestore(configuration: configuration))
    }

    /// Whether its writes outlive its process.
    var isPersistent: Bool { directory != nil }

    /// Ends its process and begins another one.
    func restart() async throws {
        try await end()
        (cloud, db) = try Self.opened(server, proxy, directory, number)
    }

    /// Ends its process.
    func end() async throws {
        for listener in listeners { listener.end() }
        listeners = []
        try await db.terminate()
        await cloud.close()
    }

    /// Starts to listen to a query.
    @discardableResult
    func listen(to query: Query, includesMetadata: Bool) throws -> WireListener {
        listenerCount += 1
        let listener = try WireListener(
            "client \(number) listener \(listenerCount)", to: query,
            includesMetadata: includesMetadata, ledger)
        listeners.append(listener)
        return listener
    }

    /// Ends a listener.
    func remove(_ listener: WireListener) {
        listeners.removeAll { $0 === listener }
        listener.end()
    }
}
