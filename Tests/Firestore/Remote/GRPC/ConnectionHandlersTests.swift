import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import LarderGRPC

@Suite("Remote: when requests are sent")
struct FlushHandlerTests {
    private final class Counter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        var flushes = 0

        func flush(context: ChannelHandlerContext) {
            flushes += 1
            context.flush()
        }
    }

    private let counter = Counter()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [counter, FlushHandler()])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func answer(_ text: String) {
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    private func sent() throws -> [String] {
        var sent: [String] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            sent.append(String(buffer: bytes))
        }
        return sent
    }

    @Test("Requests of one tick of the loop are sent together, at its end")
    func together() throws {
        answer("a")
        answer("b")
        channel.embeddedEventLoop.execute { [self] in answer("c") }
        #expect(try sent() == [] && counter.flushes == 0)
        channel.embeddedEventLoop.run()
        #expect(try sent() == ["a", "b", "c"])
        answer("d")
        channel.embeddedEventLoop.run()
        #expect(try sent() == ["d"])
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 3)
        _ = try channel.finish()
    }

    @Test("A connection sends its buffered data before it closes")
    func closed() throws {
        answer("a")
        channel.close(promise: nil)
        #expect(try sent() == ["a"] && counter.flushes == 1)
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 1)
        #expect(try channel.finish(acceptAlreadyClosed: true).isClean)
    }
}

@Suite("Connections that do not come about")
struct ConnectFailureHandlerTests {
    /// A network with or without a server.
    private final class Network: ChannelOutboundHandler {
        typealias OutboundIn = Never

        let answers: Bool

        init(answers: Bool) {
            self.answers = answers
        }

        func connect(
            context: ChannelHandlerContext, to address: SocketAddress,
            promise: EventLoopPromise<Void>?
        ) {
            guard !answers else { return context.connect(to: address, promise: promise) }
            promise?.fail(ChannelError.connectTimeout(.seconds(1)))
        }
    }

    /// Counts the ends of connections.
    private final class Ends: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private(set) var count = 0

        func channelInactive(context: ChannelHandlerContext) {
            count += 1
        }
    }

    @Test(
        "a failed connect is reported to the handlers after HTTP/2, and other ends are unchanged",
        arguments: [false, true])
    func end(answers: Bool) throws {
        let ends = Ends()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            Network(answers: answers), ConnectFailureHandler(), NIOHTTP2Handler(mode: .client), ends
        )
        let connecting = channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        if answers { try connecting.wait() }
        #expect(ends.count == (answers ? 0 : 1))
        if answers { channel.close(promise: nil) }
        channel.embeddedEventLoop.run()
        #expect(ends.count == 1)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}

@Suite("Connections whose reading fails")
struct ReadCompletionHandlerTests {
    /// Notes the events.
    private final class Ear: ChannelInboundHandler {
        typealias InboundIn = Any

        private(set) var heard: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { heard.append("read") }
        func channelReadComplete(context: ChannelHandlerContext) { heard.append("complete") }
        func channelInactive(context: ChannelHandlerContext) { heard.append("end") }
    }

    @Test("a reset connection completes its read before it ends")
    func end() throws {
        let ear = Ear()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(ReadCompletionHandler(), ear)
        channel.pipeline.fireChannelRead(ByteBuffer(string: "a"))
        channel.pipeline.fireChannelReadComplete()
        channel.pipeline.fireChannelRead(ByteBuffer(string: "b"))
        channel.pipeline.fireChannelInactive()
        channel.pipeline.fireChannelInactive()
        #expect(ear.heard == ["read", "complete", "read", "complete", "end", "end"])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
