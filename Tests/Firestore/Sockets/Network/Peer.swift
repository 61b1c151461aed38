import LarderTestSupport
import NIOCore
import NIOPosix
import Testing

/// One end of a connection, which sends what a test gives it and keeps what it receives.
final class Peer: Sendable {
    let received = Awaited("")
    let isEnded = Awaited(false)
    private let channel: any Channel

    init(_ channel: any Channel) throws {
        self.channel = channel
        try channel.pipeline.syncOperations.addHandler(Ear(received, isEnded))
    }

    static func connected(to port: Int) async throws -> Peer {
        let peer = Awaited<Peer?>(nil)
        _ = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let made = try Peer(channel)
                    peer.change { $0 = made }
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return try #require(peer.value)
    }

    func say(_ text: String) {
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    func end() async {
        try? await channel.close().get()
    }
}

private final class Ear: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: Awaited<String>
    private let isEnded: Awaited<Bool>

    init(_ received: Awaited<String>, _ isEnded: Awaited<Bool>) {
        self.received = received
        self.isEnded = isEnded
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        received.change { $0 += text }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isEnded.change { $0 = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
