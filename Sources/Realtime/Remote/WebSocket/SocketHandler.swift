import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import Logging
import NIOCore
import NIOWebSocket

/// Feeds the machine of a connection with what its channel reads, and performs the machine's
/// actions.
///
/// Confined to an event loop, from before the channel exists until after it is closed.
final class SocketHandler: ChannelInboundHandler, @unchecked Sendable {
    // All state is confined to the event loop; other threads only enqueue calls there.
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// Written bytes are flushed at the latest after so many.
    private static let flushBytes = 64 * 1024
    /// The most fragments of one frame.
    private static let maximumFragments = 65_536

    let loop: any EventLoop
    private let configuration: WebSocketConfiguration
    private let deliver: @Sendable (ConnectionEvent, _ duration: Duration) -> Void
    private var machine: SocketMachine
    private var channel: (any Channel)?
    /// Present while frames can be written.
    private var context: ChannelHandlerContext?
    private var unflushedBytes = 0
    private var timer: (scheduled: Scheduled<Void>, time: Duration)?

    /// A connection that begins now.
    ///
    /// - Parameter deliver: called on the event loop with each event and the time that the
    ///   connection has lasted.
    init(
        _ loop: any EventLoop, _ configuration: WebSocketConfiguration,
        _ deliver: @escaping @Sendable (ConnectionEvent, _ duration: Duration) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.deliver = deliver
        machine = SocketMachine(configuration, at: loop.uptime)
    }

    // MARK: Calls of the connection

    /// Sets the first timer.
    func start() {
        setTimer()
    }

    /// The channel exists, without being connected yet.
    func attach(_ channel: any Channel) {
        self.channel = channel
        if machine.isEnded { channel.close(promise: nil) }
    }

    /// Adds what stands between the channel's bytes, or its TLS, and this handler, after the
    /// server has accepted the WebSocket.
    func upgrade(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandlers([
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: Self.maximumFragments,
                maxAccumulatedFrameSize: configuration.maxMessageBytes),
            self,
        ])
        machine.upgraded(at: loop.uptime)
        setTimer()
    }

    func send(_ requests: [(number: Int, request: RealtimeRequest)]) {
        for (number, request) in requests { machine.send(request, number: number) }
        writeFrames()
    }

    func close() {
        perform(machine.close())
    }

    /// The connection was lost or could not be made.
    func fail(_ error: LarderError?) {
        perform(machine.failed(error))
    }

    // MARK: Calls of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            perform(machine.received(Array(frame.unmaskedData.readableBytesView), at: loop.uptime))
        case .connectionClose: fail(Self.closing(frame.unmaskedData))
        case .ping:
            machine.receivedOther(at: loop.uptime)
            // A peer that sends pings without reading the answers is not answered.
            if context.channel.isWritable {
                write(.pong, frame.unmaskedData)
                flush()
            }
        default: machine.receivedOther(at: loop.uptime)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        writeFrames()
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        machine.writabilityChanged(context.channel.isWritable, at: loop.uptime)
        writeFrames()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(LarderError(realtime: .unavailable, "the connection was lost"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(LarderError(connection: error))
    }

    /// The error of a close frame; nil for a server that closes the connection in order.
    private static func closing(_ data: ByteBuffer) -> LarderError? {
        var data = data
        switch data.readWebSocketErrorCode() {
        case nil, .normalClosure, .goingAway: return nil
        case let code?:
            return LarderError(realtime: .unavailable, "the server closed the connection: \(code)")
        }
    }

    // MARK: Actions

    private func perform(_ actions: [SocketMachine.Action]) {
        for action in actions { perform(action) }
        flush()
        setTimer()
    }

    private func perform(_ action: SocketMachine.Action) {
        switch action {
        case .deliver(let event): deliver(event, machine.duration(at: loop.uptime))
        case .write(let bytes): write(.text, ByteBuffer(bytes: bytes))
        case .ping: write(.ping, ByteBuffer())
        case .close(let isViolation): closeChannel(isViolation ? .protocolError : .normalClosure)
        case .log(let message): configuration.logger.debug("\(message)")
        }
    }

    /// Writes what waits as long as the channel takes it.
    private func writeFrames() {
        while let channel, channel.isWritable, let action = machine.next(at: loop.uptime) {
            perform(action)
            if unflushedBytes >= Self.flushBytes { flush() }
        }
        flush()
        setTimer()
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
        guard let context else { return }
        unflushedBytes += data.readableBytes + 1
        let frame = WebSocketFrame(
            fin: true, opcode: opcode, maskKey: .random(), data: data)
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    private func flush() {
        guard unflushedBytes > 0 else { return }
        unflushedBytes = 0
        context?.flush()
    }

    private func closeChannel(_ code: WebSocketErrorCode) {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        write(.connectionClose, data)
        flush()
        channel?.close(promise: nil)
        channel = nil
    }

    // MARK: Timer

    /// Sets the timer unless it fires early enough: it is not moved with every frame.
    private func setTimer() {
        guard let deadline = machine.deadline else {
            timer?.scheduled.cancel()
            timer = nil
            return
        }
        if let timer, timer.time <= deadline { return }
        timer?.scheduled.cancel()
        let scheduled = loop.scheduleTask(deadline: NIODeadline(uptime: deadline)) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.perform(self.machine.deadlineReached(at: self.loop.uptime))
        }
        timer = (scheduled, deadline)
    }
}

extension EventLoop {
    /// Monotonic time since an arbitrary moment.
    fileprivate var uptime: Duration {
        .nanoseconds(Int64(clamping: now.uptimeNanoseconds))
    }
}

extension NIODeadline {
    fileprivate init(uptime: Duration) {
        let (seconds, attoseconds) = uptime.components
        self = .uptimeNanoseconds(
            UInt64(clamping: seconds) * 1_000_000_000
                + UInt64(clamping: attoseconds / 1_000_000_000))
    }
}

extension LarderError {
    /// The error of a connection that could not be made or was lost.
    convenience init(connection error: any Error) {
        self.init(realtime: .unavailable, "the connection failed: \(error)", cause: error)
    }
}
