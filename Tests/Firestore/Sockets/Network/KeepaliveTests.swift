import Larder
import LarderGRPC
import LarderNetworkTestSupport
import LarderServer
import LarderTestSupport
import Testing

@Suite("Connections that lead nowhere", .timeLimit(.minutes(10)))
struct KeepaliveTests {
    @Test("are detected by a silent client, also after a time without calls")
    func client() async throws {
        let server = try await WireServer.started()
        let proxy = try await Proxy.started(port: server.port)
        let (cloud, db) = try Self.database(server, port: proxy.port)
        // The connection is there, which may take a while on a busy machine, and no call is under
        // way on it.
        let count = db.collection("c").count
        while (try? await count.getAggregation(source: .server)) == nil {}
        while try await server.streamCount > 0 {}
        var heard = db.collection("c").everything
        try await heard.settled([])
        await proxy.swallow([.toServer, .toClient])
        _ = try await heard.next { $0.metadata.isFromCache }
        await proxy.heal()
        db.reconnect()
        try await heard.settled([])
        try await db.terminate()
        await cloud.close()
        await proxy.close()
        try await server.stop()
    }

    @Test("are detected by a server whose client has vanished")
    func server() async throws {
        var limits = ServerConfiguration.Limits()
        limits.keepaliveInterval = .milliseconds(200)
        limits.keepaliveTimeout = .milliseconds(500)
        let server = try await WireServer.started(.memory, limits)
        let proxy = try await Proxy.started(port: server.port)
        let (cloud, db) = try Self.database(server, port: proxy.port)
        var heard = db.collection("c").everything
        try await heard.settled([])
        // On a busy machine a connection may be given up, and made again.
        while try await server.streamCount == 0 {}
        await proxy.swallow([.toServer, .toClient])
        try await db.terminate()
        await cloud.close()
        try await server.rest()
        await proxy.close()
        try await server.stop()
    }

    private static func database(
        _ server: WireServer, port: Int
    ) throws -> (CloudFirestore, Firestore) {
        let cloud = try server.connection(port: port, project: "p") {
            // The transport connects again by itself, and that may lead nowhere as well.
            $0.connectTimeout = .seconds(5)
            $0.keepaliveInterval = .milliseconds(200)
            $0.keepaliveTimeout = .milliseconds(500)
        }
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "p"
        configuration.backend = cloud.connection
        return (cloud, try Firestore(configuration: configuration))
    }
}
