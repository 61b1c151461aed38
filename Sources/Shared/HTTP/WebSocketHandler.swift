import LarderCore
import NIOCore
import NIOWebSocket

/// Serves a WebSocket connection (RFC 6455): frames on one side, a session on the other.
///
///     open --end of the session, fault--> closing --close frame, time--> closed
///      \----- end of the connection, client that takes nothing, memory -----^
///
/// A client is read from while its session wants input, and is disconnected when it takes nothing
/// for ``HTTPLimits/writeTime``, or sends nothing but tiny frames. What it holds is charged to the ledger.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// The size of the largest frame and of the largest fragmented message: protocols that divide
    /// their messages into frames need no more, and less than a frame is not charged.
    static let frameBytes = 64 << 10
    /// Frames are written together, up to so many bytes.
    private static let flushBytes = 64 << 10
    /// The minimum change in bytes before the account is updated.
    private static let chargeStep = 4 << 10
    /// The time that a client has to answer the end.
    private static let patience = TimeAmount.seconds(5)

    /// The size of a frame that brings nothing, or next to nothing.
    private static let tinyBytes = 16
    /// The maximum number of such frames in a second.
    static let maxTinyFrames = 5_000

    private enum State { case open, closing, closed }

    private let session: any WebSocketSession
    private let ledger: MemoryLedger
    private let writeTime: TimeAmount
    private var state = State.open
    private var context: ChannelHandlerContext?
    /// The context of the encoder that the upgrade has added.
    ///
    /// Frames are encoded here and written past it: it would write each header as a buffer of its
    /// own.
    private var output: ChannelHandlerContext?
    private var isWritable = true
    /// Encoded frames that are not written yet.
    private var unwritten = ByteBuffer()
    private var memory: MemoryAccount?
    private var chargedBytes = 0
    private var keptBytes = 0
    /// The tiny frames since a time.
    private var tinyFrames = (count: 0, since: NIODeadline.uptimeNanoseconds(0))
    /// The beginning of a fragmented message.
    private var fragments: (opcode: WebSocketOpcode, bytes: ByteBuffer)?
    /// True if the channel is to be read from once the session wants input.
    private var isReadPending = false
    private var isPumping = false
    private var timer: (scheduled: Scheduled<Void>, time: NIODeadline)?
    /// Set while the client takes nothing, and at the end.
    private var stall: Scheduled<Void>?

    init(_ session: any WebSocketSession, _ ledger: MemoryLedger, writeTime: TimeAmount) {
        self.session = session
        self.ledger = ledger
        self.writeTime = writeTime
    }

    // MARK: Connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let pipeline = context.pipeline.syncOperations
        output = (try? pipeline.context(handlerType: WebSocketFrameEncoder.self)) ?? context
        isWritable = context.channel.isWritable
        let (bound, loop) = (NIOLoopBound(self, eventLoop: context.eventLoop), context.eventLoop)
        // The account refers to the handler until ``finish()``.
        let memory = ledger.open(for: context.remoteAddress?.ipAddress ?? "") { completion in
            loop.execute {
                bound.value.closeChannel()
                completion()
            }
        }
        self.memory = memory
        session.begin(memory) { [weak self] in self?.pump() }
        pump()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish()
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketError {
        case .invalidFrameLength: fail(.messageTooLarge)
        case .fragmentedControlFrame, .multiByteControlFrameLength: fail(.protocolError)
        case nil: closeChannel()
        }
    }

    private func finish() {
        guard context != nil else { return }
        (state, context, output, fragments) = (.closed, nil, nil, nil)
        unwritten = ByteBuffer()
        timer?.scheduled.cancel()
        stall?.cancel()
        session.close()
        memory?.close()
        memory = nil
    }

    private func closeChannel() {
        state = .closed
        context?.close(promise: nil)
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch state {
        case .open: receive(frame)
        case .closing: if frame.opcode == .connectionClose { closeChannel() }
        case .closed: break
        }
    }

    private func receive(_ frame: WebSocketFrame) {
        // Clients mask what they send, and no extension is agreed on.
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return fail(.protocolError)
        }
        guard frame.length >= Self.tinyBytes || admitsTinyFrame() else {
            return fail(.policyViolation)
        }
        switch frame.opcode {
        case .text, .binary:
            guard fragments == nil else { return fail(.protocolError) }
            receive(frame.opcode, frame.unmaskedData, isLast: frame.fin)
        case .continuation:
            guard let (opcode, bytes) = fragments else { return fail(.protocolError) }
            fragments = nil
            var (message, rest) = (bytes, frame.unmaskedData)
            message.writeBuffer(&rest)
            receive(opcode, message, isLast: frame.fin)
        case .ping:
            session.receiveOther()
            // Pings of a client that does not read are ignored.
            if isWritable { add(.pong, frame.unmaskedData.readableBytesView) }
        case .pong: session.receiveOther()
        case .connectionClose: receiveEnd(frame.unmaskedData)
        default: fail(.protocolError)
        }
    }

    private func receive(_ opcode: WebSocketOpcode, _ bytes: ByteBuffer, isLast: Bool) {
        guard bytes.readableBytes <= Self.frameBytes else { return fail(.messageTooLarge) }
        guard isLast else {
            fragments = (opcode, bytes)
            return
        }
        if opcode == .text {
            guard bytes.isUTF8 else { return fail(.dataInconsistentWithMessage) }
            session.receive(Array(bytes.readableBytesView))
        } else {
            session.receiveOther()
        }
    }

    /// Counts a tiny frame; false if there are too many in a second.
    private func admitsTinyFrame() -> Bool {
        tinyFrames.count += 1
        guard tinyFrames.count > Self.maxTinyFrames, let loop = context?.eventLoop else {
            return true
        }
        let isFast = loop.now - tinyFrames.since < .seconds(1)
        tinyFrames = (0, loop.now)
        return !isFast
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pump()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if session.wantsInput || state != .open {
            context.read()
        } else {
            isReadPending = true
        }
    }

    // MARK: Sending

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        isWritable = context.channel.isWritable
        memory?.setStalled(!isWritable)
        if isWritable {
            stall?.cancel()
            stall = nil
            pump()
        } else {
            setStall(writeTime)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Sends what waits, as far as the client takes it, and follows the session's wishes.
    private func pump() {
        guard let context, state == .open, !isPumping else { return flush() }
        isPumping = true
        while state == .open, isWritable, let message = session.next() {
            switch message {
            case .text(let text): add(.text, text)
            case .close: end(with: .goingAway)
            }
        }
        isPumping = false
        flush()
        settle()
        setTimer()
        if isReadPending, session.wantsInput {
            isReadPending = false
            context.read()
        }
    }

    /// Adds a frame to those that are written together.
    private func add(_ opcode: WebSocketOpcode, _ payload: some Collection<UInt8>) {
        if unwritten.readableBytes + payload.count > Self.flushBytes { flush() }
        unwritten.writeFrame(opcode, payload)
    }

    private func flush(_ written: EventLoopPromise<Void>? = nil) {
        guard let output, unwritten.readableBytes > 0 else {
            written?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        let frames = unwritten
        unwritten = ByteBuffer()
        output.writeAndFlush(wrapOutboundOut(frames), promise: written)
    }

    /// Ends the connection of a client that violates the protocol.
    private func fail(_ code: WebSocketErrorCode) {
        guard state == .open else { return }
        end(with: code)
        flush()
    }

    /// Sends the end and waits for the client's.
    private func end(with code: WebSocketErrorCode) {
        state = .closing
        fragments = nil
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        add(.connectionClose, data.readableBytesView)
        setStall(Self.patience)
        // What the client sends from now on is read for its end alone.
        if isReadPending { context?.read() }
    }

    /// Answers the end that the client has sent: with its code, if that is valid.
    private func receiveEnd(_ data: ByteBuffer) {
        guard data.readableBytes > 0 else { return answerEnd(.normalClosure) }
        var reason = data
        guard let number = reason.readInteger(as: UInt16.self), Self.isValid(number) else {
            return answerEnd(.protocolError)
        }
        answerEnd(reason.isUTF8 ? WebSocketErrorCode(codeNumber: Int(number)) : .protocolError)
    }

    /// True for a code that a client may end with (RFC 6455, 7.4).
    private static func isValid(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// Answers the end that the client has sent, and closes the connection.
    private func answerEnd(_ code: WebSocketErrorCode) {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [weak self] _ in self?.closeChannel() }
        end(with: code)
        flush(written)
    }

    // MARK: Memory and time

    /// Charges what the connection holds.
    private func settle() {
        let kept = session.keptBytes
        if kept != keptBytes {
            memory?.changeKept(by: kept - keptBytes)
            keptBytes = kept
        }
        let held = session.heldBytes + (fragments?.bytes.readableBytes ?? 0)
        let change = held - chargedBytes
        guard abs(change) >= Self.chargeStep || held == 0, change != 0 else { return }
        chargedBytes = held
        memory?.change(by: change)
    }

    private func setStall(_ time: TimeAmount) {
        stall?.cancel()
        stall = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            self?.closeChannel()
        }
    }

    /// Sets the timer unless it fires early enough: it is not moved with every frame.
    private func setTimer() {
        guard let context, state == .open, let deadline = session.deadline else { return }
        if let timer, timer.time <= deadline { return }
        timer?.scheduled.cancel()
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            [weak self] in
            guard let self else { return }
            timer = nil
            session.reachDeadline()
            pump()
        }
        timer = (scheduled, deadline)
    }
}

extension ByteBuffer {
    /// True if the readable bytes are UTF-8.
    fileprivate var isUTF8: Bool { String(validating: readableBytesView, as: UTF8.self) != nil }

    /// Appends a frame of a server (RFC 6455, 5.2): whole, and without a mask.
    fileprivate mutating func writeFrame(
        _ opcode: WebSocketOpcode, _ payload: some Collection<UInt8>
    ) {
        let count = payload.count
        reserveCapacity(minimumWritableBytes: count + 10)
        writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        if count < 126 {
            writeInteger(UInt8(count))
        } else if let count = UInt16(exactly: count) {
            writeMultipleIntegers(UInt8(126), count)
        } else {
            writeMultipleIntegers(UInt8(127), UInt64(count))
        }
        writeBytes(payload)
    }
}
