import NIOCore
import NIOEmbedded
import Testing

@testable import LarderServer

@Suite("Server: connections whose protocol is not known yet")
final class ProtocolSelectorTests {
    private let channel = EmbeddedChannel()
    private var serving = 0
    private var failure: (any Error)?

    init() throws {
        let admin = AdminAPI(
            databases: Databases(.memory, limit: 1), streams: StreamCount(limit: 1),
            token: BearerToken(nil),
            access: WebAccess(ServerConfiguration(storage: .memory)))
        try channel.pipeline.syncOperations.addHandler(
            ProtocolSelector(admin) { [unowned self] _ in
                serving += 1
                if let failure { throw failure }
            })
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    @Test("are gRPC's when they begin as HTTP/2 does, which hears all of it")
    func http2() throws {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for part in [preface.prefix(8), preface.dropFirst(8)] {
            #expect(serving == 0)
            try channel.writeInbound(ByteBuffer(substring: part))
        }
        #expect(serving == 1)
        #expect(try channel.readInbound() == ByteBuffer(string: preface))
        // It is known now, and nobody waits for it.
        try channel.writeInbound(ByteBuffer(string: "x"))
        #expect(try channel.readInbound() == ByteBuffer(string: "x"))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }

    @Test("are answered as HTTP/1.1 otherwise", arguments: ["GET", "PRX"])
    func http1(method: String) throws {
        try channel.writeInbound(ByteBuffer(string: "\(method) /health HTTP/1.1\r\n"))
        #expect(serving == 0)
        _ = try channel.pipeline.syncOperations.handler(type: AdminHandler.self)
        #expect(throws: ChannelPipelineError.self) {
            try self.channel.pipeline.syncOperations.handler(type: ProtocolSelector.self)
        }
    }

    @Test("are closed when they cannot be made ready, whatever still comes")
    func unready() throws {
        failure = ChannelError.ioOnClosedChannel
        for _ in 0..<2 {
            channel.pipeline.fireChannelRead(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\n"))
        }
        #expect(serving == 1 && !channel.isActive)
    }

    @Test("are let go when they say nothing")
    func silent() throws {
        try channel.writeInbound(ByteBuffer(string: "PRI"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive && serving == 0)
    }

    @Test("are let go when the server stops")
    func stops() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!channel.isActive)
    }
}
