import Foundation
import LarderNetworkTestSupport
import LarderTestSupport
import NIOCore
import NIOPosix
import Testing

@Suite("A proxy that breaks connections", .timeLimit(.minutes(10)))
struct ProxyTests {
    @Test("bytes go both ways, and so does the end")
    func passing() async throws {
        let line = try await Line.started()
        line.client.say("ping")
        await line.server.received.wait { $0 == "ping" }
        line.server.say("pong")
        await line.client.received.wait { $0 == "pong" }
        await line.client.end()
        await line.proxy.connections.wait { $0 == 0 }
        await line.server.isEnded.wait { $0 }
        await line.close()
    }

    @Test("held data arrives later, in order, and before the end")
    func holding() async throws {
        let line = try await Line.started()
        await line.proxy.hold(.toServer)
        for number in 0..<5 { line.client.say("\(number)") }
        line.server.say("the other way is open")
        await line.client.received.wait { $0 == "the other way is open" }
        #expect(line.server.received.value == "")
        await line.client.end()
        await line.proxy.release()
        await line.server.isEnded.wait { $0 }
        #expect(line.server.received.value == "01234")
        await line.close()
    }

    @Test("dropped data never arrives, nor the end, nor later data")
    func swallowing() async throws {
        let line = try await Line.started()
        await line.proxy.swallow([.toServer])
        line.client.say("lost")
        await line.proxy.heal()
        line.client.say("lost as well")
        await line.client.end()
        // A connection that comes after is whole.
        let next = try await Peer.connected(to: line.proxy.port)
        next.say("found")
        let nextServer = try #require(await line.host.peer(2))
        await nextServer.received.wait { $0 == "found" }
        #expect(line.server.received.value == "" && !line.server.isEnded.value)
        await line.proxy.cut()
        await line.server.isEnded.wait { $0 }
        await line.close()
    }

    @Test("a connection that is swallowed from its beginning never reaches the host")
    func black() async throws {
        let line = try await Line.started()
        await line.proxy.swallow([.toServer, .toClient])
        let client = try await Peer.connected(to: line.proxy.port)
        client.say("hello")
        await line.proxy.connections.wait { $0 == 2 }
        await line.proxy.cut()
        await client.isEnded.wait { $0 }
        #expect(line.host.peers.value.count == 1 && client.received.value == "")
        await line.close()
    }

    @Test("both ends are notified of a cut")
    func cutting() async throws {
        let line = try await Line.started()
        await line.proxy.cut()
        await line.client.isEnded.wait { $0 }
        await line.server.isEnded.wait { $0 }
        await line.proxy.connections.wait { $0 == 0 }
        await line.close()
    }

    @Test("a cut after some bytes lets them through, and not one more")
    func counting() async throws {
        let line = try await Line.started()
        await line.proxy.cut(after: 5, .toServer)
        line.client.say("123")
        line.client.say("456")
        await line.server.isEnded.wait { $0 }
        await line.client.isEnded.wait { $0 }
        #expect(line.server.received.value == "12345")
        await line.close()
    }

    @Test("who is refused gets nowhere, nor does anybody without a host")
    func refusing() async throws {
        let line = try await Line.started()
        await line.proxy.refuse()
        try await getsNowhere(line.proxy.port)
        await line.proxy.heal()
        let welcome = try await Peer.connected(to: line.proxy.port)
        welcome.say("in")
        let server = try #require(await line.host.peer(2))
        await server.received.wait { $0 == "in" }
        await line.host.close()
        try await getsNowhere(line.proxy.port)
        await line.close()
    }

    /// Connects to a proxy that closes the connection, perhaps before the client finds it made.
    private func getsNowhere(_ port: Int) async throws {
        do {
            let peer = try await Peer.connected(to: port)
            await peer.isEnded.wait { $0 }
        } catch let error as NIOConnectionError {
            let codes = error.connectionErrors.map { ($0.error as? IOError)?.errnoCode }
            #expect(codes.allSatisfy { $0 == ECONNRESET }, "\(error)")
        }
    }
}

/// A host, a proxy before it, and a client whose connection has reached the host.
private struct Line {
    let host: Host
    let proxy: Proxy
    let client: Peer
    let server: Peer

    static func started() async throws -> Line {
        let host = try await Host.started()
        let proxy = try await Proxy.started(port: host.port)
        let client = try await Peer.connected(to: proxy.port)
        let server = try #require(await host.peer(1))
        return Line(host: host, proxy: proxy, client: client, server: server)
    }

    func close() async {
        await proxy.close()
        await host.close()
    }
}

/// A server that keeps its connections and sends what a test tells it to.
private final class Host: Sendable {
    let peers: Awaited<[Peer]>
    private let reservedPort: ReservedPort
    private let listener: any Channel

    private init(
        _ listener: any Channel, _ peers: Awaited<[Peer]>, _ reservedPort: ReservedPort
    ) {
        self.listener = listener
        self.peers = peers
        self.reservedPort = reservedPort
    }

    /// The port at which it listens; after ``close()`` connections to it are refused.
    var port: Int { reservedPort.number }

    static func started() async throws -> Host {
        let peers = Awaited<[Peer]>([])
        let reservedPort = try ReservedPort()
        waitForSpawns()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let peer = try Peer(channel)
                    peers.change { $0.append(peer) }
                }
            }
            .bind(host: "127.0.0.1", port: reservedPort.number).get()
        return Host(listener, peers, reservedPort)
    }

    /// Waits for one more than there were, and gives the last.
    func peer(_ count: Int) async -> Peer? {
        await peers.wait { $0.count >= count }
        return peers.value.last
    }

    func close() async {
        try? await listener.close().get()
        for peer in peers.value { await peer.end() }
    }
}
