import NIOCore
import NIOHTTP2

/// Tells what stands behind HTTP/2 in the pipeline of a connection that did not come about.
///
/// It would hear of nothing, and the transport's timers would keep each other for ever: some memory
/// for each attempt to reach a host that is away.
final class FailedConnect: ChannelOutboundHandler {
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
