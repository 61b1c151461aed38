import CNGHTTP2
import LarderCore
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The server's end of an HTTP/2 connection over nghttp2: bytes on one side, frames on the other.
///
/// Inbound frames that concern streams are passed on: headers, data, pings. nghttp2 does the rest:
/// settings, acknowledgements, scheduling and outbound flow control; it resets streams and closes
/// connections that violate the protocol. The next handler returns window for received data with
/// window update frames. The end of a stream is fired as a `StreamClosedEvent`.
final class HTTP2Handler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = ByteBuffer

    struct Limits {
        /// The receive window of a stream.
        var windowBytes = 65_535
        var streams = 100
        /// The size of a request's headers, with 32 bytes for each field (RFC 9113, 6.5.2).
        var headerBytes = HPACKDecoder.defaultMaxHeaderListSize
        /// Streams that a client may reset in ``resetPeriod``.
        var resets = 200
    }

    /// The period of ``Limits/resets``, in seconds.
    static let resetPeriod = 30

    /// The time that a client may take for a frame, and that a stream's data may wait for it.
    struct Patience {
        /// For the first frame, for a whole frame and for a block of headers.
        var frame = TimeAmount.seconds(20)
        /// For taking any data of a stream that has some.
        var data = TimeAmount.seconds(30)
    }

    /// The longest time between two checks of ``Patience``; what is due is checked when it is due.
    private static let checkInterval = TimeAmount.seconds(5)

    /// The size of a write to the socket.
    private static let writeBytes = 64 << 10
    /// The initial capacity of a write: enough for most.
    private static let initialWriteBytes = 1 << 10

    private let session: OpaquePointer
    private let limits: Limits
    private var context: ChannelHandlerContext?
    private var streams: [Int32: HTTP2Stream] = [:]
    private var closedStreams = HTTP2ClosedStreams()
    /// The last headers and trailers of responses.
    private let beginnings = HTTP2Fields()
    private let endings = HTTP2Fields()
    /// The headers being received.
    private var headers = HPACKHeaders()
    private var headerBytes = 0
    /// Whether nghttp2 is running: it must not be entered again from its callbacks.
    private var isInSession = false
    /// Whether the connection is to be closed after an error of nghttp2.
    private var hasFailed = false
    /// The promises of data that nghttp2 has taken since the last write to the socket.
    private var promises: [EventLoopPromise<Void>] = []
    private let report: HTTP2Fault.Report
    /// The account of the connection; nil to count nothing.
    private let memory: MemoryAccount?
    /// The size of all streams' data, and the part of it that is charged.
    private(set) var unsentBytes = 0
    private var chargedBytes = 0
    /// Called after a write to the socket; nil for nothing.
    var wrote: (() -> Void)?
    /// When data of any stream was last taken while some was left; nil for never.
    private var lastTaken: NIODeadline?
    private let patience: Patience
    private var frames = HTTP2FrameTracker()
    /// When the incomplete frame was begun; nil between frames.
    private var incompleteSince: NIODeadline?
    private var check: Scheduled<Void>?

    /// - Parameters:
    ///   - start: when the connection was accepted; nil for when the handler is added.
    ///   - memory: is charged for data that the client does not take.
    ///   - report: called with violations of the protocol and failures.
    /// - Throws: `unavailable` if out of memory.
    init(
        _ limits: Limits, patience: Patience = Patience(), start: NIODeadline? = nil,
        memory: MemoryAccount? = nil, report: @escaping HTTP2Fault.Report = { _ in }
    ) throws(LarderError) {
        guard let session = HTTP2Callbacks.makeSession(limits) else {
            throw LarderError(
                .unavailable, "out of memory for an HTTP/2 session",
                domain: LarderError.sharedDomain)
        }
        self.session = session
        self.limits = limits
        self.patience = patience
        self.memory = memory
        self.report = report
        incompleteSince = start
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        nghttp2_session_del(session)
    }

    // MARK: Connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        incompleteSince = incompleteSince ?? context.eventLoop.now
        scheduleCheck()
        if context.channel.isActive { send() }
    }

    func channelActive(context: ChannelHandlerContext) {
        send()
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        context = nil
        check?.cancel()
        let gone = streams
        streams = [:]
        for stream in gone.values { stream.fail() }
        unsentBytes = 0
        settleMemory()
    }

    // MARK: Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes that arrive from within a callback would be out of order.
        if isInSession { fail(.reentered) }
        guard !hasFailed else { return }
        isInSession = true
        let count = unwrapInboundIn(data).withUnsafeReadableBytes {
            // nghttp2 ignores data on closed streams.
            frames.receive($0) { check($0, isHeaders: false) }
            return nghttp2_session_mem_recv(
                session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        isInSession = false
        if count < 0 { fail(.failure(Int32(count))) }
        if !frames.isIncomplete {
            incompleteSince = nil
        } else if incompleteSince == nil {
            incompleteSince = context.eventLoop.now
            scheduleCheck()
        }
    }

    /// Closes the connection after an error of nghttp2.
    private func fail(_ fault: HTTP2Fault) {
        hasFailed = true
        report(fault)
        assert(fault != .reentered, "bytes arrived within a callback of nghttp2")
    }

    /// Reports a fault that the connection survives, or that ends it by a frame.
    func note(_ fault: HTTP2Fault) {
        report(fault)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        send()
    }

    func beginHeaders() {
        headers = HPACKHeaders()
        headerBytes = 0
    }

    /// Adds a field to the headers being received.
    ///
    /// - Returns: whether the headers are within the limit.
    func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        headerBytes += name.count + value.count + 32
        guard headerBytes <= limits.headerBytes else { return false }
        headers.add(
            name: String(decoding: name, as: UTF8.self),
            value: String(decoding: value, as: UTF8.self))
        return true
    }

    /// Adds a part of a data frame to its stream.
    func add(_ bytes: UnsafeBufferPointer<UInt8>, to id: Int32) {
        guard let stream = streams[id] else { return creditDiscarded(bytes.count) }
        stream.received.writeBytes(bytes)
    }

    /// Returns connection window for bytes that are not passed on.
    private func creditDiscarded(_ count: Int) {
        if count > 0 { nghttp2_session_consume_connection(session, count) }
    }

    /// Ends the connection of a client that sends headers or data on a closed stream.
    func check(_ id: Int32, isHeaders: Bool) {
        guard streams[id] == nil,
            let violation = closedStreams.violation(on: id, isHeaders: isHeaders)
        else { return }
        let code = violation == .closed ? NGHTTP2_STREAM_CLOSED : NGHTTP2_PROTOCOL_ERROR
        nghttp2_session_terminate_session(session, UInt32(code.rawValue))
    }

    /// Notes that a frame is sent.
    func sent(_ frame: nghttp2_frame) {
        if frame.hd.type == UInt8(NGHTTP2_RST_STREAM.rawValue) {
            closedStreams.closedByServer(frame.hd.stream_id)
        }
        if let fault = HTTP2Fault(ending: frame) { note(fault) }
    }

    /// Passes a complete frame on.
    func receive(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_RST_STREAM: closedStreams.endedByClient(id)
        case NGHTTP2_HEADERS:
            closedStreams.opened(id)
            if isLast { closedStreams.endedByClient(id) }
            let read = headers
            headers = HPACKHeaders()
            if streams[id] == nil { streams[id] = HTTP2Stream() }
            fire(.headers(.init(headers: read, endStream: isLast)), id)
        case NGHTTP2_DATA:
            if isLast { closedStreams.endedByClient(id) }
            guard let stream = streams[id] else { return }
            let read = stream.received
            stream.received = ByteBuffer()
            fire(.data(.init(data: .byteBuffer(read), endStream: isLast)), id)
        case NGHTTP2_PING:
            let isAck = frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
            fire(.ping(HTTP2PingData(withTuple: frame.ping.opaque_data), ack: isAck), 0)
        default: break
        }
    }

    private func fire(_ payload: HTTP2Frame.FramePayload, _ id: Int32) {
        context?.fireChannelRead(
            wrapInboundOut(HTTP2Frame(streamID: HTTP2StreamID(id), payload: payload)))
    }

    /// Removes a stream that has ended.
    func close(_ id: Int32, _ code: UInt32) {
        if let stream = streams.removeValue(forKey: id) {
            creditDiscarded(stream.received.readableBytes)
            unsentBytes -= stream.unsentBytes
            stream.fail()
        }
        closedStreams.closedByServer(id)
        let reason = code == 0 ? nil : HTTP2ErrorCode(networkCode: Int(code))
        context?.fireUserInboundEventTriggered(
            StreamClosedEvent(streamID: HTTP2StreamID(id), reason: reason))
    }

    // MARK: Outbound

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        let id = Int32(Int(frame.streamID))
        let isAccepted: Bool
        switch frame.payload {
        case .data(let data):
            guard let response = streams[id], case .byteBuffer(let bytes) = data.data else {
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            }
            response.append(bytes, promise, at: context.eventLoop.now)
            unsentBytes += bytes.readableBytes
            // Much is charged at once: producers look at the account before the next flush.
            if unsentBytes - chargedBytes > Self.writeBytes { settleMemory() }
            if data.endStream { response.isWhole = true }
            return resume(response, id)
        case .headers(let headers): isAccepted = write(headers, id)
        case .windowUpdate(let size):
            isAccepted = nghttp2_submit_window_update(session, 0, id, Int32(clamping: size)) == 0
        case .rstStream(let code):
            isAccepted = nghttp2_submit_rst_stream(session, 0, id, UInt32(code.networkCode)) == 0
        case .ping(let data, ack: false):
            isAccepted = withUnsafeBytes(of: data.bytes) {
                $0.withMemoryRebound(to: UInt8.self) {
                    nghttp2_submit_ping(session, 0, $0.baseAddress) == 0
                }
            }
        case .goAway(.maxID, .noError, nil):
            isAccepted = nghttp2_submit_shutdown_notice(session) == 0
        case .goAway(let last, let code, let reason):
            let reason = reason.map { Array($0.readableBytesView) } ?? []
            isAccepted =
                nghttp2_submit_goaway(
                    session, 0, Int32(Int(last)), UInt32(code.networkCode), reason, reason.count)
                == 0
        default: isAccepted = false
        }
        if isAccepted {
            promise?.succeed()
        } else {
            promise?.fail(ChannelError.operationUnsupported)
        }
    }

    private func write(_ headers: HTTP2Frame.FramePayload.Headers, _ id: Int32) -> Bool {
        guard let response = streams[id] else { return false }
        if response.hasBegun {
            response.trailers = headers.headers
            resume(response, id)
            return true
        }
        response.hasBegun = true
        let fields = beginnings.fields(of: headers.headers)
        var data = HTTP2Callbacks.data
        return withUnsafePointer(to: &data) { data in
            let data = headers.endStream ? nil : data
            return nghttp2_submit_response(session, id, fields.baseAddress, fields.count, data) == 0
        }
    }

    private func resume(_ response: HTTP2Stream, _ id: Int32) {
        guard response.isDeferred else { return }
        response.isDeferred = false
        let error = nghttp2_session_resume_data(session, id)
        if error != 0 { note(.failure(error)) }
    }

    /// Copies a stream's data into nghttp2's buffer.
    ///
    /// - Returns: the number of bytes, or an error code of nghttp2.
    func read(
        _ id: Int32, into room: UnsafeMutableRawBufferPointer, _ flags: inout UInt32
    ) -> Int {
        guard let response = streams[id] else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let count = response.take(into: room, &promises)
        unsentBytes -= count
        if count > 0, unsentBytes > 0, let now = context?.eventLoop.now {
            lastTaken = now
            response.noteTaken(at: now)
        }
        if response.isSent, let trailers = response.trailers {
            flags |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            let fields = endings.fields(of: trailers)
            let error = nghttp2_submit_trailer(session, id, fields.baseAddress, fields.count)
            return error == 0 ? count : Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        if response.isSent, response.isWhole {
            flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
            return count
        }
        guard count == 0 else { return count }
        response.isDeferred = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }

    func flush(context: ChannelHandlerContext) {
        send()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { send() }
        context.fireChannelWritabilityChanged()
    }

    /// Writes nghttp2's output while the channel is writable; closes a finished connection.
    private func send() {
        guard !isInSession, let context else { return }
        while context.channel.isWritable, let bytes = nextBytes() {
            context.write(wrapOutboundOut(bytes), promise: promise(on: context.eventLoop))
        }
        context.flush()
        settleMemory()
        if unsentBytes > 0 { scheduleCheck() }
        wrote?()
        let isOver =
            nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        if hasFailed || isOver { context.close(promise: nil) }
    }

    /// The next output of nghttp2; nil if there is none.
    private func nextBytes() -> ByteBuffer? {
        isInSession = true
        defer { isInSession = false }
        var bytes = ByteBuffer()
        while bytes.readableBytes < Self.writeBytes {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            if count < 0 { fail(.failure(Int32(count))) }
            guard count > 0 else { break }
            if bytes.capacity == 0 { bytes.reserveCapacity(max(count, Self.initialWriteBytes)) }
            bytes.writeBytes(UnsafeBufferPointer(start: start, count: count))
        }
        return bytes.readableBytes > 0 ? bytes : nil
    }

    /// A promise that completes all of ``promises``; nil if there are none.
    private func promise(on loop: any EventLoop) -> EventLoopPromise<Void>? {
        guard !promises.isEmpty else { return nil }
        let waiting = promises
        promises = []
        let sent = loop.makePromise(of: Void.self)
        sent.futureResult.whenComplete { result in
            for promise in waiting { promise.completeWith(result) }
        }
        return sent
    }

    // MARK: Slow clients

    /// The data of a stream that is not sent.
    func unsentBytes(of id: Int32) -> Int { streams[id]?.unsentBytes ?? 0 }

    /// Discards the data of a stream that is not sent, and ends the stream: with trailers, which need
    /// no window, where the response has begun.
    func abandon(_ id: Int32, _ trailers: HPACKHeaders) {
        guard let stream = streams[id] else { return }
        unsentBytes -= stream.unsentBytes
        stream.fail()
        var isAccepted = false
        if stream.hasBegun {
            // The data provider must not submit them again.
            stream.trailers = nil
            let fields = endings.fields(of: trailers)
            isAccepted =
                nghttp2_submit_trailer(session, id, fields.baseAddress, fields.count) == 0
        } else {
            isAccepted = write(.init(headers: trailers, endStream: true), id)
        }
        if !isAccepted {
            nghttp2_submit_rst_stream(session, 0, id, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        }
        settleMemory()
    }

    /// Charges the account for the data that the client has not taken by now.
    private func settleMemory() {
        guard unsentBytes != chargedBytes else { return }
        let change = unsentBytes - chargedBytes
        chargedBytes = unsentBytes
        memory?.change(by: change)
        memory?.backlog.change(by: change)
    }

    /// Schedules the next check, unless one is scheduled.
    ///
    /// - Parameter due: the time until a stream may be out of patience, if known.
    private func scheduleCheck(due: TimeAmount? = nil) {
        guard check == nil, let context else { return }
        var delay = min(Self.checkInterval, patience.data)
        if let due { delay = min(delay, due) }
        if let incompleteSince {
            delay = min(delay, incompleteSince + patience.frame - context.eventLoop.now)
        }
        check = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [weak self] in
            self?.check = nil
            self?.checkPatience()
        }
    }

    /// Closes the connection if a frame is incomplete for too long, and reports streams whose data
    /// is not taken.
    private func checkPatience() {
        guard let context else { return }
        let now = context.eventLoop.now
        if let incompleteSince {
            guard now - incompleteSince < patience.frame else {
                note(.slowFrame)
                return context.close(promise: nil)
            }
        }
        var due: TimeAmount?
        for (id, stream) in streams where stream.unsentBytes > 0 {
            // Streams share the connection: one with window waits for its turn.
            let mayWait = nghttp2_session_get_stream_remote_window_size(session, id) > 0
            let remaining = stream.remainingPatience(
                patience.data, at: now, lastTurn: mayWait ? lastTaken : nil)
            if remaining > .zero {
                due = min(due ?? remaining, remaining)
            } else {
                stream.noteTaken(at: now)
                context.fireUserInboundEventTriggered(StalledStream(id: HTTP2StreamID(id)))
            }
        }
        if incompleteSince != nil || unsentBytes > 0 { scheduleCheck(due: due) }
    }
}
