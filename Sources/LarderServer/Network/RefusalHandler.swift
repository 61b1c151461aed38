import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2

/// An event for a call's channel: what stands before the service ends the call in its place.
struct CallRefusal: Sendable {
    /// Why.
    let code: RPCError.Code
    /// Why, in words.
    let message: String
}

/// Answers in the place of what serves a call when a ``CallRefusal`` comes from behind, and drops
/// what still goes either way.
///
/// The client ends the call when it has the answer; a reset could overtake it. It has some seconds
/// for that.
final class RefusalHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private static let patience = TimeAmount.seconds(5)

    private var closing: Scheduled<Void>?
    private var hasAnswered = false
    private var hasEnded = false
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isRefused { context.fireChannelRead(data) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        closing?.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isRefused else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        if case .headers(let headers) = unwrapOutboundIn(data) {
            hasAnswered = true
            hasEnded = headers.endStream
        }
        context.write(data, promise: promise)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard let refusal = event as? CallRefusal else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        refuse(refusal, context)
        promise?.succeed()
    }

    private func refuse(_ refusal: CallRefusal, _ context: ChannelHandlerContext) {
        guard !isRefused, !hasEnded else { return }
        isRefused = true
        var headers = hasAnswered ? HPACKHeaders() : CallHeaders.answer
        CallHeaders.add(RPCError(code: refusal.code, message: refusal.message), to: &headers)
        let ending = HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: true))
        context.writeAndFlush(wrapOutboundOut(ending), promise: nil)
        // What was withheld has been asked for, to see the end of the call.
        context.read()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        closing = context.eventLoop.scheduleTask(in: Self.patience) {
            bound.value.close(promise: nil)
        }
    }
}
