import NIOCore

/// Closes a connection whose client has said nothing for too long, not even when it was asked for a
/// sign of life: its streams would stay for ever.
///
/// Stands behind NIO's `IdleStateHandler`. The transport itself only asks such a client to go.
final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.close(promise: nil)
    }
}
