import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Answers a small call of one request where it comes, before gRPC's transport makes more of it.
///
/// The frames of a call are kept back until they are whole. What is then a plain request of a
/// ``ShortCall`` is answered; anything else, as a large request, a compressed one or one that is no
/// message, goes on to the transport as it came, which serves or refuses it. The handler leaves the
/// channel then: streams stay open for long, and have no use for it.
///
/// Stands behind ``RefusalHandler``, ``DeadlineHandler`` and ``RequestMeter``.
final class ShortCallHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum State {
        /// The call has not begun.
        case idle
        /// A call that may be short has begun.
        case taking(ShortCall, HPACKHeaders)
        /// It is answered.
        case answering(Task<Void, Never>)
        /// It has been answered, or is none of these.
        case done
    }

    /// Before a message: whether it is compressed, 1 byte, and its length, 4 bytes.
    private static let prefixBytes = 5

    private let calls: ShortCalls
    private let executor: LoopExecutor
    private var state = State.idle
    private var withheld: [HTTP2Frame.FramePayload] = []
    private var received = ByteBuffer()

    init(_ calls: ShortCalls, _ executor: LoopExecutor) {
        self.calls = calls
        self.executor = executor
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch (state, frame) {
        case (.idle, .headers(let headers)):
            guard !headers.endStream, let call = calls.call(headers.headers) else { break }
            state = .taking(call, headers.headers)
            withheld.append(frame)
            return
        case (.taking(let call, let headers), .data(let data)):
            guard case .byteBuffer(var bytes) = data.data else { break }
            if withheld.count == 1 { received = bytes } else { received.writeBuffer(&bytes) }
            guard received.readableBytes <= Self.prefixBytes + ShortCall.maxRequestBytes else {
                break
            }
            withheld.append(frame)
            if data.endStream { answer(call, headers, context) }
            return
        case (.answering, _), (.done, _): return
        default: break
        }
        withheld.append(frame)
        passOn(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    private func end() {
        if case .answering(let task) = state { task.cancel() }
        state = .done
        (withheld, received) = ([], ByteBuffer())
    }

    private func passOn(_ context: ChannelHandlerContext) {
        let frames = withheld
        end()
        for frame in frames { context.fireChannelRead(wrapInboundOut(frame)) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func answer(
        _ call: ShortCall, _ headers: HPACKHeaders, _ context: ChannelHandlerContext
    ) {
        guard let message = message(), let answer = call.take(message) else {
            return passOn(context)
        }
        (withheld, received) = ([], ByteBuffer())
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: loop)
        let task = Task(executorPreference: executor) { [calls] in
            let result = await calls.run(call, headers, answer)
            loop.executeOrRun { bound.value.handler.finish(result, bound.value.context) }
        }
        state = .answering(task)
    }

    /// The one message that has come; nil where it is not one, or compressed.
    private func message() -> [UInt8]? {
        guard received.readInteger(as: UInt8.self) == 0,
            let message = received.readLengthPrefixedSlice(as: UInt32.self),
            received.readableBytes == 0
        else { return nil }
        return Array(message.readableBytesView)
    }

    private func finish(
        _ result: Result<[[UInt8]], RPCError>, _ context: ChannelHandlerContext
    ) {
        guard case .answering = state else { return }
        state = .done
        switch result {
        case .success(let messages):
            let size = messages.reduce(0) { $0 + Self.prefixBytes + $1.count }
            var bytes = context.channel.allocator.buffer(capacity: size)
            for message in messages {
                bytes.writeInteger(0 as UInt8)
                bytes.writeInteger(UInt32(message.count))
                bytes.writeBytes(message)
            }
            context.write(
                wrapOutboundOut(.headers(.init(headers: CallHeaders.answer))), promise: nil)
            context.write(
                wrapOutboundOut(.data(.init(data: .byteBuffer(bytes)))), promise: nil)
            context.writeAndFlush(
                wrapOutboundOut(.headers(.init(headers: CallHeaders.success, endStream: true))),
                promise: nil)
        case .failure(let error):
            context.writeAndFlush(
                wrapOutboundOut(
                    .headers(.init(headers: CallHeaders.failure(error), endStream: true))),
                promise: nil)
        }
    }
}

extension EventLoop {
    /// Runs a closure on this loop: at once where the thread is its own.
    fileprivate func executeOrRun(_ body: @escaping @Sendable () -> Void) {
        if inEventLoop { body() } else { execute(body) }
    }
}
