import NIOCore

/// Sends what the calls of a connection have written once in a turn of its event loop, not once for
/// each call.
///
/// A lone request is sent as soon as its turn ends, and requests that are made together are sent
/// together. The transport's own way, to wait 0.1 ms for more, keeps each request of a lone caller
/// back.
final class FlushHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether there is something to send at the end of the turn.
    private var isDue = false

    func flush(context: ChannelHandlerContext) {
        guard !isDue else { return }
        isDue = true
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.handler.send(bound.value.context) }
    }

    func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        send(context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        isDue = false
    }

    private func send(_ context: ChannelHandlerContext) {
        guard isDue else { return }
        isDue = false
        context.flush()
    }
}
