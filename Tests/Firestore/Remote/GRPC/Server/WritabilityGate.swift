import NIOCore

/// Keeps it back that a connection can be written to again, or no longer, until what was received
/// has been taken in.
///
/// Stands before HTTP/2. What its handler writes meanwhile is flushed at the end of that; news of
/// the connection in between make it write data before frames that were there earlier, which
/// its debug builds take for a fault of their own.
final class WritabilityGate: ChannelInboundHandler {
    typealias InboundIn = Any
    typealias InboundOut = Any

    private var isReading = false
    private var hasNews = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        isReading = false
        guard hasNews else { return }
        hasNews = false
        context.fireChannelWritabilityChanged()
    }

    /// NIO does not end a round of reading that has failed; HTTP/2 would keep its streams then.
    func channelInactive(context: ChannelHandlerContext) {
        if isReading { channelReadComplete(context: context) }
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isReading { hasNews = true } else { context.fireChannelWritabilityChanged() }
    }
}
