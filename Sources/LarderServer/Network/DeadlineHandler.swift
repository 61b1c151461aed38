import GRPCCore
import LarderProtocol
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Ends a call when the time is over that its client gives it.
///
/// The header that says so is taken away: for each call that has one the transport would leave a
/// sleeping task behind until the time is over, however soon the call was done. Clients of Google
/// give a minute to most calls, and a day to streams.
///
/// Stands behind ``RefusalHandler``, which tells the client.
final class DeadlineHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private var deadline: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .headers(var frame) = unwrapInboundIn(data),
            let header = frame.headers.first(name: CallTimeout.headerName),
            let timeout = CallTimeout(header: header)
        else { return context.fireChannelRead(data) }
        frame.headers.remove(name: CallTimeout.headerName)
        setDeadline(timeout, context)
        context.fireChannelRead(wrapInboundOut(.headers(frame)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    private func setDeadline(_ timeout: CallTimeout, _ context: ChannelHandlerContext) {
        guard deadline == nil else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: TimeAmount(timeout.duration)) {
            let context = bound.value
            context.triggerUserOutboundEvent(
                CallRefusal(code: .deadlineExceeded, message: "the call's time is over"),
                promise: nil)
            // With its channel what serves the call hears of it.
            context.close(promise: nil)
        }
    }
}
