import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

@Suite("Open connections")
struct OpenConnectionsTests {
    private func channel(from address: String) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: address, port: 1)).wait()
        return channel
    }

    @Test("No more connections are admitted than the total, nor from one address")
    func limits() throws {
        let connections = OpenConnections(.init(total: 4, perAddress: 2))
        let first = try (0..<3).map { _ in try channel(from: "10.0.0.1") }
        let second = try (0..<3).map { _ in try channel(from: "10.0.0.2") }
        #expect(first.map { connections.add($0) } == [true, true, false])
        #expect(second.map { connections.add($0) } == [true, true, false])
        let third = try channel(from: "10.0.0.3")
        #expect(!connections.add(third) && connections.count == 4)
        // An end makes room for its address, and in the total.
        func close(_ channel: EmbeddedChannel) throws {
            try channel.close().wait()
            channel.embeddedEventLoop.run()
        }
        try close(first[0])
        #expect(!connections.add(second[2]) && connections.add(first[2]))
        try close(first[1])
        #expect(connections.add(third) && connections.count == 4)
        for channel in first + second + [third] {
            _ = try channel.finish(acceptAlreadyClosed: true)
        }
        #expect(connections.count == 0)
    }

    @Test("Connections that come after the end are closed")
    func closed() throws {
        let connections = OpenConnections()
        let early = try channel(from: "10.0.0.1")
        #expect(connections.add(early))
        connections.close()
        #expect(!early.isActive)
        let late = try channel(from: "10.0.0.1")
        #expect(connections.add(late))
        late.embeddedEventLoop.run()
        early.embeddedEventLoop.run()
        #expect(!late.isActive && connections.count == 0)
        for channel in [early, late] { _ = try channel.finish(acceptAlreadyClosed: true) }
    }
}
