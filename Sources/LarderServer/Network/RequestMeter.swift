import DequeModule
import GRPCCore
import NIOCore
import NIOHTTP2

/// Holds room in a budget for one call's requests, from when their length is known until they are
/// served.
///
/// Without room nothing more is read, so that the client waits. A call that asks once is served
/// when it ends; of a stream, that takes answers while it asks, each answer serves the oldest
/// request. A call whose request does not find room, or does not come whole, in a time is refused
/// with RESOURCE_EXHAUSTED, after which clients try again. That is said by a ``RefusalHandler``,
/// behind which this stands.
final class RequestMeter: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let budget: RequestBudget
    /// More than any request may have; what says that it has more is refused behind this.
    private let maxBytes: Int
    private let patience: TimeAmount

    private var heldBytes = 0
    private var requests = MessageFrames()
    private var answers = MessageFrames()
    /// The bytes of the requests that have begun and are not answered.
    private var unanswered: Deque<Int> = []
    private var hasEnded = false
    /// The number of the wait for room, and for how many bytes.
    private var wait: (id: UInt64, bytes: Int)?
    /// What has come while it waits.
    private var withheld: [NIOAny] = []
    private var wantsMore = false
    private var timeout: Scheduled<Void>?

    init(_ budget: RequestBudget, maxBytes: Int, patience: Duration) {
        self.budget = budget
        self.maxBytes = maxBytes
        self.patience = TimeAmount(patience)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard wait == nil else { return withheld.append(data) }
        guard case .data(let frame) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        hasEnded = frame.endStream
        guard case .byteBuffer(let bytes) = frame.data else { return context.fireChannelRead(data) }
        let begun = requests.advance(over: bytes.readableBytesView).map { min($0, maxBytes) }
        unanswered.append(contentsOf: begun)
        // Where one begins, those before it are whole.
        if !begun.isEmpty { stopTimeout() }
        guard hold(min(begun.reduce(0, +), maxBytes), context) else { return withheld.append(data) }
        context.fireChannelRead(data)
        if requests.isBetween { stopTimeout() }
    }

    func read(context: ChannelHandlerContext) {
        guard wait == nil else {
            wantsMore = true
            return
        }
        context.read()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // A call that asks once holds its request to its end.
        if !hasEnded, case .data(let frame) = unwrapOutboundIn(data),
            case .byteBuffer(let bytes) = frame.data
        {
            for _ in answers.advance(over: bytes.readableBytesView) {
                release(min(unanswered.popFirst() ?? 0, heldBytes))
            }
        }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        letGo()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        letGo()
    }

    /// Whether there is room now; else it goes on when there is.
    private func hold(_ bytes: Int, _ context: ChannelHandlerContext) -> Bool {
        guard bytes > 0 else { return true }
        if bytes > RequestBudget.littleBytes { startTimeout(context) }
        let loop = context.eventLoop
        let bound = NIOLoopBound((meter: self, context: context), eventLoop: loop)
        let id = budget.take(bytes) { [budget] id in
            loop.execute {
                guard bound.value.meter.wait?.id == id else { return budget.release(bytes) }
                bound.value.meter.goOn(bound.value.context)
            }
        }
        guard let id else {
            heldBytes += bytes
            return true
        }
        wait = (id, bytes)
        return false
    }

    /// Passes on what was withheld for want of room.
    private func goOn(_ context: ChannelHandlerContext) {
        guard let wait else { return }
        heldBytes += wait.bytes
        self.wait = nil
        var frames = withheld
        withheld = []
        // There is room for the first of them; the others may have to wait again.
        context.fireChannelRead(frames.removeFirst())
        if requests.isBetween { stopTimeout() }
        for frame in frames { channelRead(context: context, data: frame) }
        context.fireChannelReadComplete()
        guard wantsMore else { return }
        wantsMore = false
        read(context: context)
    }

    private func startTimeout(_ context: ChannelHandlerContext) {
        guard timeout == nil else { return }
        let bound = NIOLoopBound((meter: self, context: context), eventLoop: context.eventLoop)
        timeout = context.eventLoop.scheduleTask(in: patience) {
            bound.value.meter.refuse(bound.value.context)
        }
    }

    private func stopTimeout() {
        timeout?.cancel()
        timeout = nil
    }

    private func release(_ bytes: Int) {
        heldBytes -= bytes
        budget.release(bytes)
    }

    private func letGo() {
        stopTimeout()
        // Where it is too late to give it up, the room that was found is let go when it is told.
        if let wait { _ = budget.giveUp(wait.id) }
        wait = nil
        withheld = []
        release(heldBytes)
    }

    private func refuse(_ context: ChannelHandlerContext) {
        letGo()
        context.triggerUserOutboundEvent(
            CallRefusal(
                code: .resourceExhausted,
                message: "the request is too slow, or there are too many"),
            promise: nil)
    }
}
