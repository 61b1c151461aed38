import NIOCore

/// Ends a round of reading before it tells of the connection's end.
///
/// NIO does not where reading has failed, as it does when a connection is reset. HTTP/2 would keep the
/// streams that had been told something in that round, and they their connection.
final class UnfinishedRead: ChannelInboundHandler {
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
