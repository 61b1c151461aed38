import LarderModel
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: connections whose protocol is not known yet")
struct ProtocolSelectorTests {
    /// Counts what it hears of a connection's life.
    private final class Life: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private(set) var beginnings = 0
        private(set) var ends = 0

        func channelActive(context: ChannelHandlerContext) {
            beginnings += 1
        }

        func channelInactive(context: ChannelHandlerContext) {
            ends += 1
        }
    }

    @Test(
        "tell what stands behind HTTP/2 of their end, once, whatever was spoken",
        arguments: [
            ("", 0), ("PRI * HT", 0), ("GET /health HTTP/1.1\r\n", 0),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 1),
        ])
    func end(bytes: String, beginnings: Int) throws {
        let admin = AdminAPI(
            databases: Databases(.memory, limit: 1), streams: StreamCount(limit: 1),
            token: BearerToken(nil))
        let life = Life()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            ProtocolSelector(admin), NIOHTTP2Handler(mode: .server), life)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: bytes))
        #expect((life.beginnings, life.ends) == (beginnings, 0))
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect((life.beginnings, life.ends) == (beginnings, 1))
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("tell it also when they were never open")
    func neverOpen() throws {
        let admin = AdminAPI(
            databases: Databases(.memory, limit: 1), streams: StreamCount(limit: 1),
            token: BearerToken(nil))
        let life = Life()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            ProtocolSelector(admin), NIOHTTP2Handler(mode: .server), life)
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect((life.beginnings, life.ends) == (0, 1))
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
