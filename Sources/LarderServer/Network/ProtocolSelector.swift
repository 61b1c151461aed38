import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Looks at the first bytes of a connection: HTTP/2 goes on to gRPC, anything else is answered as
/// HTTP/1.1.
///
/// What stands behind it in the pipeline does not hear that the connection is open before it is
/// known to be for it. A client that says nothing is let go.
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// How every connection with HTTP/2 begins, and no other request.
    private static let preface = Array("PRI * HTTP/2.0".utf8)
    private static let patience = TimeAmount.seconds(20)

    private let admin: AdminAPI
    private var received = ByteBuffer()
    private var timeout: Scheduled<Void>?
    /// Whether what stands behind hears by itself of the end, or has heard of it.
    private var isDone = false

    init(_ admin: AdminAPI) {
        self.admin = admin
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        let beginning = received.readableBytesView.prefix(Self.preface.count)
        guard Self.preface.starts(with: beginning) else { return serveHTTP1(context) }
        guard beginning.count == Self.preface.count else { return }
        context.fireChannelActive()
        handOver(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        isDone = true
        context.fireChannelInactive()
        context.fireInactiveBehindHTTP2()
    }

    /// A connection that ends before it is open, as while the server stops, is never inactive.
    func handlerRemoved(context: ChannelHandlerContext) {
        if !isDone { context.fireInactiveBehindHTTP2() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The server stops, and nobody has asked for anything here.
        if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private func serveHTTP1(_ context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandlers(
                [
                    HTTPResponseEncoder(),
                    ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
                    AdminHandler(admin),
                ], position: .after(self))
        } catch {
            return context.close(promise: nil)
        }
        handOver(context)
    }

    private func handOver(_ context: ChannelHandlerContext) {
        timeout?.cancel()
        timeout = nil
        isDone = true
        context.fireChannelRead(wrapInboundOut(received))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}

extension ChannelHandlerContext {
    /// Tells what stands behind HTTP/2 in the pipeline that a connection has ended on which nobody
    /// spoke it.
    ///
    /// The handler of HTTP/2 keeps such an end to itself, and the transport's timers would then keep
    /// each other for ever.
    func fireInactiveBehindHTTP2() {
        let operations = pipeline.syncOperations
        (try? operations.context(handlerType: NIOHTTP2Handler.self))?.fireChannelInactive()
    }
}
