import CNGHTTP2
import DequeModule
import LarderModel
import NIOCore
import NIOHPACK
import NIOHTTP2

/// HTTP/2 at the server's end of a connection, by nghttp2: bytes on one side, frames on the other.
///
/// Frames go on that say something to calls: headers, data, pings. nghttp2 does the rest: settings,
/// acknowledgements, the order and the flow control of what is sent, and it ends streams and
/// connections that break a rule. What is received is credited by whoever takes it, with frames of
/// window updates. Tells the end of a stream as a `StreamClosedEvent`.
final class HTTP2Handler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = ByteBuffer

    /// What is allowed.
    struct Limits {
        /// How much a client may send on a stream that is not credited.
        var windowBytes = 65_535
        /// Streams at a time.
        var streams = 100
        /// Of the headers of a request, with 32 for each field (RFC 9113, 6.5.2).
        var headerBytes = HPACKDecoder.defaultMaxHeaderListSize
        /// Streams that a client may take back in ``resetPeriod``.
        var resets = 200
    }

    /// For how long ``Limits/resets`` are, in seconds.
    static let resetPeriod = 30

    /// A stream: what is read of its request and what waits to be sent of its answer.
    private final class Stream {
        /// The part of a data frame that has arrived so far; handed on when the frame is whole.
        ///
        /// A frame that is cut off, because its stream ends or breaks a rule while it arrives, is
        /// discarded with its stream: no other stream can see these bytes.
        var received = ByteBuffer()
        /// What waits to be sent.
        var data: Deque<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)> = []
        /// What ends it.
        var trailers: HPACKHeaders?
        var hasBegun = false
        /// Whether nghttp2 is to be told when there is more.
        var isAwaited = false

        func fail() {
            for (_, promise) in data { promise?.fail(ChannelError.ioOnClosedChannel) }
        }
    }

    /// How much is written at a time.
    private static let writeBytes = 64 << 10
    /// About what most answers to one reading are.
    private static let fewBytes = 1 << 10

    private let session: OpaquePointer
    private let limits: Limits
    private var context: ChannelHandlerContext?
    private var streams: [Int32: Stream] = [:]
    /// What answers begin and end with, most of them with the same.
    private let beginnings = HTTP2Fields()
    private let endings = HTTP2Fields()
    /// The headers that are being read.
    private var headers = HPACKHeaders()
    private var headerBytes = 0
    /// Whether nghttp2 is at work, which must not be asked to read or send then.
    private var isAtWork = false
    /// Whether the client has broken a rule after which nothing goes on.
    private var hasFailed = false
    /// Of what has been sent since it was written last.
    private var promises: [EventLoopPromise<Void>] = []

    /// HTTP/2 of a connection that has not begun.
    ///
    /// - Throws: `unavailable` without memory.
    init(_ limits: Limits) throws(LarderError) {
        guard let session = HTTP2Callbacks.makeSession(limits) else {
            throw LarderError(.unavailable, "there is no memory for a connection")
        }
        self.session = session
        self.limits = limits
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        nghttp2_session_del(session)
    }

    // MARK: The life of the connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
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
        let gone = streams
        streams = [:]
        for stream in gone.values { stream.fail() }
    }

    // MARK: What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What is not read in order is not read at all.
        if isAtWork { hasFailed = true }
        guard !hasFailed else { return }
        isAtWork = true
        let count = unwrapInboundIn(data).withUnsafeReadableBytes {
            nghttp2_session_mem_recv(
                session, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        isAtWork = false
        if count < 0 { hasFailed = true }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        send()
    }

    /// Headers begin.
    func beginHeaders() {
        headers = HPACKHeaders()
        headerBytes = 0
    }

    /// A field of headers has been read.
    ///
    /// - Returns: whether there is room for it.
    func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        headerBytes += name.count + value.count + 32
        guard headerBytes <= limits.headerBytes else { return false }
        headers.add(
            name: String(decoding: name, as: UTF8.self),
            value: String(decoding: value, as: UTF8.self))
        return true
    }

    /// A part of a data frame of a stream has been read.
    func add(_ bytes: UnsafeBufferPointer<UInt8>, to id: Int32) {
        guard let stream = streams[id] else { return creditDiscarded(bytes.count) }
        stream.received.writeBytes(bytes)
    }

    /// Returns connection window for bytes that no call receives, and so none credits.
    private func creditDiscarded(_ count: Int) {
        if count > 0 { nghttp2_session_consume_connection(session, count) }
    }

    /// A frame has been read.
    func receive(_ frame: nghttp2_frame) {
        let id = frame.hd.stream_id
        let isLast = frame.hd.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch nghttp2_frame_type(UInt32(frame.hd.type)) {
        case NGHTTP2_HEADERS:
            let read = headers
            headers = HPACKHeaders()
            if streams[id] == nil { streams[id] = Stream() }
            fire(.headers(.init(headers: read, endStream: isLast)), id)
        case NGHTTP2_DATA:
            guard let stream = streams[id] else { return }
            let read = stream.received
            stream.received = ByteBuffer()
            fire(.data(.init(data: .byteBuffer(read), endStream: isLast)), id)
        case NGHTTP2_PING:
            let isAnswer = frame.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
            fire(.ping(HTTP2PingData(withTuple: frame.ping.opaque_data), ack: isAnswer), 0)
        default: break
        }
    }

    private func fire(_ payload: HTTP2Frame.FramePayload, _ id: Int32) {
        context?.fireChannelRead(
            wrapInboundOut(HTTP2Frame(streamID: HTTP2StreamID(id), payload: payload)))
    }

    /// A stream has ended.
    func close(_ id: Int32, _ code: UInt32) {
        if let stream = streams.removeValue(forKey: id) {
            creditDiscarded(stream.received.readableBytes)
            stream.fail()
        }
        let reason = code == 0 ? nil : HTTP2ErrorCode(networkCode: Int(code))
        context?.fireUserInboundEventTriggered(
            StreamClosedEvent(streamID: HTTP2StreamID(id), reason: reason))
    }

    // MARK: What goes

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        let id = Int32(Int(frame.streamID))
        let isTaken: Bool
        switch frame.payload {
        case .data(let data):
            guard let answer = streams[id], case .byteBuffer(let bytes) = data.data else {
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            }
            answer.data.append((bytes, promise))
            return goOn(answer, id)
        case .headers(let headers): isTaken = write(headers, id)
        case .windowUpdate(let size):
            isTaken = nghttp2_submit_window_update(session, 0, id, Int32(clamping: size)) == 0
        case .rstStream(let code):
            isTaken = nghttp2_submit_rst_stream(session, 0, id, UInt32(code.networkCode)) == 0
        case .ping(let data, ack: false):
            isTaken = withUnsafeBytes(of: data.bytes) {
                $0.withMemoryRebound(to: UInt8.self) {
                    nghttp2_submit_ping(session, 0, $0.baseAddress) == 0
                }
            }
        case .goAway(.maxID, .noError, nil):
            isTaken = nghttp2_submit_shutdown_notice(session) == 0
        case .goAway(let last, let code, let reason):
            let reason = reason.map { Array($0.readableBytesView) } ?? []
            isTaken =
                nghttp2_submit_goaway(
                    session, 0, Int32(Int(last)), UInt32(code.networkCode), reason, reason.count)
                == 0
        default: isTaken = false
        }
        if isTaken {
            promise?.succeed()
        } else {
            promise?.fail(ChannelError.operationUnsupported)
        }
    }

    private func write(_ headers: HTTP2Frame.FramePayload.Headers, _ id: Int32) -> Bool {
        guard let answer = streams[id] else { return false }
        if answer.hasBegun {
            answer.trailers = headers.headers
            goOn(answer, id)
            return true
        }
        answer.hasBegun = true
        let fields = beginnings.fields(of: headers.headers)
        if headers.endStream {
            return nghttp2_submit_response(session, id, fields.baseAddress, fields.count, nil) == 0
        }
        var data = HTTP2Callbacks.data
        return nghttp2_submit_response(session, id, fields.baseAddress, fields.count, &data) == 0
    }

    private func goOn(_ answer: Stream, _ id: Int32) {
        guard answer.isAwaited else { return }
        answer.isAwaited = false
        nghttp2_session_resume_data(session, id)
    }

    /// Gives nghttp2 what there is to be sent on a stream.
    ///
    /// - Returns: how many bytes of the room are used, or an error of nghttp2's.
    func read(
        _ id: Int32, into room: UnsafeMutableRawBufferPointer, _ flags: inout UInt32
    ) -> Int {
        guard let answer = streams[id] else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        var count = 0
        while count < room.count, let (bytes, promise) = answer.data.first {
            let size = min(bytes.readableBytes, room.count - count)
            bytes.withUnsafeReadableBytes {
                UnsafeMutableRawBufferPointer(rebasing: room[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(size)))
            }
            count += size
            if size < bytes.readableBytes {
                answer.data[0].bytes.moveReaderIndex(forwardBy: size)
            } else {
                answer.data.removeFirst()
                if let promise { promises.append(promise) }
            }
        }
        if answer.data.isEmpty, let trailers = answer.trailers {
            flags |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            let fields = endings.fields(of: trailers)
            let error = nghttp2_submit_trailer(session, id, fields.baseAddress, fields.count)
            return error == 0 ? count : Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        guard count == 0 else { return count }
        answer.isAwaited = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }

    func flush(context: ChannelHandlerContext) {
        send()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { send() }
        context.fireChannelWritabilityChanged()
    }

    /// Sends what there is, as far as the client takes it; closes the connection behind its end.
    private func send() {
        guard !isAtWork, let context else { return }
        while context.channel.isWritable, let bytes = nextBytes() {
            context.write(wrapOutboundOut(bytes), promise: promise(on: context.eventLoop))
        }
        context.flush()
        let isOver =
            nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        if hasFailed || isOver { context.close(promise: nil) }
    }

    /// What is to be sent next; nil while there is nothing.
    private func nextBytes() -> ByteBuffer? {
        isAtWork = true
        defer { isAtWork = false }
        var bytes = ByteBuffer()
        while bytes.readableBytes < Self.writeBytes {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            if count < 0 { hasFailed = true }
            guard count > 0 else { break }
            if bytes.capacity == 0 { bytes.reserveCapacity(max(count, Self.fewBytes)) }
            bytes.writeBytes(UnsafeBufferPointer(start: start, count: count))
        }
        return bytes.readableBytes > 0 ? bytes : nil
    }

    /// What tells those who wait that what they wrote is on its way; nil where nobody does.
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
}
