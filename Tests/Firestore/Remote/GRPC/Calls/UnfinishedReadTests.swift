import NIOCore
import NIOEmbedded
import Testing

@testable import LarderGRPC

@Suite("Connections whose reading fails")
struct UnfinishedReadTests {
    /// Notes what it hears.
    private final class Ear: ChannelInboundHandler {
        typealias InboundIn = Any

        private(set) var heard: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { heard.append("read") }
        func channelReadComplete(context: ChannelHandlerContext) { heard.append("complete") }
        func channelInactive(context: ChannelHandlerContext) { heard.append("end") }
    }

    @Test("end what they were reading before they end")
    func end() throws {
        let ear = Ear()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(UnfinishedRead(), ear)
        channel.pipeline.fireChannelRead(ByteBuffer(string: "a"))
        channel.pipeline.fireChannelReadComplete()
        channel.pipeline.fireChannelRead(ByteBuffer(string: "b"))
        channel.pipeline.fireChannelInactive()
        channel.pipeline.fireChannelInactive()
        #expect(ear.heard == ["read", "complete", "read", "complete", "end", "end"])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
