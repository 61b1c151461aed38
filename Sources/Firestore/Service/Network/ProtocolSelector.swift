import NIOCore
import NIOHTTP1

/// Looks at the first bytes of a connection, and makes it ready for what they are: HTTP/2, which is
/// gRPC, or else HTTP/1.1.
///
/// A client that says nothing is let go.
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// How every connection with HTTP/2 begins, and no other request.
    private static let preface = Array("PRI * HTTP/2.0".utf8)
    private static let patience = TimeAmount.seconds(20)

    private let admin: AdminAPI
    private let serveHTTP2: (any Channel) throws -> Void
    private var received = ByteBuffer()
    private var timeout: Scheduled<Void>?
    /// Whether the protocol is known.
    private var isDone = false

    /// - Parameter serveHTTP2: puts what speaks HTTP/2 at the end of a connection's pipeline.
    init(_ admin: AdminAPI, _ serveHTTP2: @escaping (any Channel) throws -> Void) {
        self.admin = admin
        self.serveHTTP2 = serveHTTP2
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A connection that could not be made ready is about to be closed.
        guard !isDone else { return }
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        let beginning = received.readableBytesView.prefix(Self.preface.count)
        guard Self.preface.starts(with: beginning) else { return handOver(context, serveHTTP1) }
        guard beginning.count == Self.preface.count else { return }
        handOver(context, serveHTTP2)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The server stops, and nobody has asked for anything here.
        if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private func serveHTTP1(_ channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandlers(
            HTTPResponseEncoder(),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
            AdminHandler(admin))
    }

    private func handOver(
        _ context: ChannelHandlerContext, _ serve: (any Channel) throws -> Void
    ) {
        isDone = true
        do {
            try serve(context.channel)
        } catch {
            return context.close(promise: nil)
        }
        let bytes = received
        received = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
