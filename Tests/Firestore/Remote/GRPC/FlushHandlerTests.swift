import NIOCore
import NIOEmbedded
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

    @Test("What is asked in one turn of the loop is sent together, at its end")
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

    @Test("A connection that is closed sends what it has before")
    func closed() throws {
        answer("a")
        channel.close(promise: nil)
        #expect(try sent() == ["a"] && counter.flushes == 1)
        channel.embeddedEventLoop.run()
        #expect(counter.flushes == 1)
        #expect(try channel.finish(acceptAlreadyClosed: true).isClean)
    }
}
