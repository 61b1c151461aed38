import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import LarderGRPC

@Suite("Connections that do not come about")
struct FailedConnectTests {
    /// A network that nobody answers in, or that somebody does.
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

    /// Counts the ends that it hears of.
    private final class Ends: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private(set) var count = 0

        func channelInactive(context: ChannelHandlerContext) {
            count += 1
        }
    }

    @Test("end for what stands behind HTTP/2, and others end as ever", arguments: [false, true])
    func end(answers: Bool) throws {
        let ends = Ends()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            Network(answers: answers), FailedConnect(), NIOHTTP2Handler(mode: .client), ends)
        let connecting = channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        if answers { try connecting.wait() }
        #expect(ends.count == (answers ? 0 : 1))
        if answers { channel.close(promise: nil) }
        channel.embeddedEventLoop.run()
        #expect(ends.count == 1)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
