import NIOCore
import NIOHTTP2

/// Holds the bytes of a call's last answers, so that a stream that was told much does not keep
/// the room for it.
///
/// The transport puts the answers of a call into a buffer that grows, and uses it again for the
/// next ones unless somebody holds it. Held here, it gives way to one that is as large as the next
/// answers.
final class AnswerBufferHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private var last: IOData?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .data(let frame) = unwrapOutboundIn(data) { last = frame.data }
        context.write(data, promise: promise)
    }
}
