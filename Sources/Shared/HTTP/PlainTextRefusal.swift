import NIOCore

/// Answers plain HTTP on a connection that is to use TLS with 400 and a sentence; everything else
/// passes.
///
/// It is in front of TLS, and decides by the first byte: TLS begins with a handshake record (22), a
/// request of HTTP with a letter.
final class PlainTextRefusal: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time that a client has to read the response and disconnect.
    static let patience = TimeAmount.seconds(2)

    private static let response: String = {
        let text = "This port requires TLS, and the request is plain HTTP: use https.\n"
        return """
            HTTP/1.1 400 Bad Request\r
            content-type: text/plain\r
            content-length: \(text.utf8.count)\r
            connection: close\r
            \r
            \(text)
            """
    }()

    private var isRefusing = false
    private var closing: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What follows is discarded: closing with unread bytes would reset the connection, and the
        // client could not read the response.
        guard !isRefusing else { return }
        guard let first = unwrapInboundIn(data).readableBytesView.first,
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
        else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            return
        }
        isRefusing = true
        let response = context.channel.allocator.buffer(string: Self.response)
        context.writeAndFlush(wrapOutboundOut(response), promise: nil)
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        closing = context.eventLoop.scheduleTask(in: Self.patience) {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        closing?.cancel()
    }
}
