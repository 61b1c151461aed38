import NIOCore
import NIOEmbedded
import Testing

@testable import LarderServer

@Suite("Server: whether a connection can be written to")
struct WritabilityGateTests {
    /// Notes what it hears.
    private final class Ear: ChannelInboundHandler {
        typealias InboundIn = Any

        private(set) var heard: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            heard.append("read")
            context.pipeline.fireChannelWritabilityChanged()
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            context.pipeline.fireChannelWritabilityChanged()
            heard.append("complete")
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            heard.append("writability")
        }

        func channelInactive(context: ChannelHandlerContext) {
            heard.append("end")
        }
    }

    @Test("is told once what was received has been taken in, and at once otherwise")
    func order() throws {
        let ear = Ear()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(WritabilityGate(), ear)
        channel.pipeline.fireChannelWritabilityChanged()
        for _ in 0..<2 {
            channel.pipeline.fireChannelRead(ByteBuffer(string: "a"))
            channel.pipeline.fireChannelReadComplete()
        }
        channel.pipeline.fireChannelReadComplete()
        channel.pipeline.fireChannelWritabilityChanged()
        let cycle = ["read", "complete", "writability"]
        #expect(
            ear.heard == ["writability"] + cycle + cycle
                + ["writability", "complete", "writability"])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test("and a round of reading ends before the connection does")
    func end() throws {
        let ear = Ear()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(WritabilityGate(), ear)
        channel.pipeline.fireChannelRead(ByteBuffer(string: "a"))
        channel.pipeline.fireChannelInactive()
        channel.pipeline.fireChannelInactive()
        #expect(ear.heard == ["read", "complete", "writability", "end", "end"])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
