import NIOCore
import NIOHTTP2

/// Flushes the writes of all calls once per tick of the event loop.
///
/// A single request is sent at the end of its tick, and concurrent requests are sent together. The
/// transport's own coalescing waits 0.1 ms, which delays every request of a single caller.
final class FlushHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

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

/// Reports a failed connect to the handlers after HTTP/2.
///
/// Otherwise the transport's timers retain each other indefinitely: a leak for each attempt to
/// reach an unreachable host.
final class ConnectFailureHandler: ChannelOutboundHandler {
    typealias OutboundIn = Never

    func connect(
        context: ChannelHandlerContext, to address: SocketAddress,
        promise: EventLoopPromise<Void>?
    ) {
        let result = promise ?? context.eventLoop.makePromise()
        let operations = context.pipeline.syncOperations
        result.futureResult.assumeIsolated().whenFailure { _ in
            (try? operations.context(handlerType: NIOHTTP2Handler.self))?.fireChannelInactive()
        }
        context.connect(to: address, promise: result)
    }
}

/// Fires the missing `channelReadComplete` before the end of a connection.
///
/// NIO omits it after a failed read, as of a reset connection. HTTP/2 would then retain the streams
/// that received something in that read, and these their connection.
final class ReadCompletionHandler: ChannelInboundHandler {
    typealias InboundIn = Any
    typealias InboundOut = Any

    private var isReading = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isReading { channelReadComplete(context: context) }
        context.fireChannelInactive()
    }
}
