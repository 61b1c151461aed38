import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The calls of a connection: it gives each the frames of its stream, and writes theirs.
///
/// Stands behind ``HTTP2Handler``. What calls write in a turn of the event loop is sent once, at its
/// end: a lone answer waits for nobody, and answers that are made together are sent together.
final class CallConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Whether the connection is to end.
    private enum Phase {
        case open
        /// The client has been told to go, and is asked whether it has heard it.
        case leaving
        /// It has; the connection ends with its last call.
        case left
    }

    /// How much a client may send that is not taken, of a call and of all calls.
    static let windowBytes = 1 << 20
    /// What HTTP/2 allows before it is told.
    private static let firstWindowBytes = 65_535

    /// What the calls have in common with those of other connections.
    let serving: CallServing
    /// The ends of the connection.
    private(set) var peers = CallServing.Peers()
    private var context: ChannelHandlerContext?
    private var calls: [HTTP2StreamID: Call] = [:]
    private var last = HTTP2StreamID.rootStream
    private var phase = Phase.open
    private var isReading = false
    private var isFlushDue = false
    /// Bytes of all calls that the client has not been told of as taken.
    private var uncredited = CallConnection.windowBytes - CallConnection.firstWindowBytes
    private var keepalive: Keepalive
    private var pings: PingGuard
    private var timer: Scheduled<Void>?
    private let keepaliveData = HTTP2PingData(withInteger: .random(in: 1...UInt64.max / 2))
    private let leavingData = HTTP2PingData(withInteger: 0)

    init(_ serving: CallServing, now: NIODeadline) {
        self.serving = serving
        keepalive = Keepalive(
            interval: serving.limits.keepaliveInterval, timeout: serving.limits.keepaliveTimeout,
            now: now)
        pings = PingGuard(interval: serving.limits.pingInterval)
    }

    /// Puts it, and the HTTP/2 before it, at the end of a connection's pipeline.
    ///
    /// To be called on the event loop of the connection.
    static func add(to channel: any Channel, _ serving: CallServing) throws {
        let limits = serving.limits
        try channel.pipeline.syncOperations.addHandlers(
            HTTP2Handler(
                HTTP2Handler.Limits(
                    windowBytes: windowBytes,
                    streams: min(max(limits.callsPerConnection, 1), Int(Int32.max)),
                    resets: max(limits.callsTakenBack, 1))),
            CallConnection(serving, now: channel.eventLoop.now))
    }

    // MARK: What the calls write

    /// Writes a frame of a call.
    func write(
        _ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID,
        _ promise: EventLoopPromise<Void>? = nil
    ) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch payload {
        case .headers, .data: pings.reset()
        default: break
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: promise)
    }

    /// Sends what was written, when the turn of the event loop ends.
    func flush() {
        // What is written while something is read HTTP/2 sends at the end of that.
        guard !isReading, !isFlushDue, let context else { return }
        isFlushDue = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushDue = false
            self.context?.flush()
        }
    }

    /// Ends a call whose client has its answer and does not end it.
    func reset(_ id: HTTP2StreamID) {
        write(.rstStream(.noError), on: id)
        flush()
    }

    // MARK: What the client says

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): begin(frame.streamID, headers)
        case .data(let data): receive(frame.streamID, data)
        case .ping(let data, ack: true): if data == leavingData { noteLeaving() }
        case .ping(_, ack: false): notePing()
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        keepalive.hear(at: context.eventLoop.now)
        if uncredited >= Self.windowBytes / 2 {
            write(.windowUpdate(windowSizeIncrement: uncredited), on: .rootStream)
            uncredited = 0
            flush()
        }
        context.fireChannelReadComplete()
    }

    private func begin(_ id: HTTP2StreamID, _ headers: HTTP2Frame.FramePayload.Headers) {
        // Clients say nothing behind their requests.
        guard calls[id] == nil else { return write(.rstStream(.protocolError), on: id) }
        guard let context else { return }
        last = id
        let call = Call(id, of: self, on: context.eventLoop)
        calls[id] = call
        call.begin(headers.headers, isWhole: headers.endStream)
    }

    private func receive(_ id: HTTP2StreamID, _ data: HTTP2Frame.FramePayload.Data) {
        guard case .byteBuffer(let bytes) = data.data else { return }
        let size = bytes.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
        uncredited += size
        calls[id]?.receive(bytes, size: size, isLast: data.endStream)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as StreamClosedEvent:
            calls.removeValue(forKey: event.streamID)?.close()
            closeIfLeft()
        case is ChannelShouldQuiesceEvent: leave()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: The life of the connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let describe = { (address: SocketAddress?) in address.map { "\($0)" } ?? "unknown" }
        peers = CallServing.Peers(
            remote: describe(context.remoteAddress), local: describe(context.localAddress))
        watch(in: TimeAmount(serving.limits.keepaliveInterval))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        if isFlushDue { context.flush() }
        context.close(mode: mode, promise: promise)
    }

    private func end() {
        timer?.cancel()
        let open = calls
        calls = [:]
        for call in open.values { call.close() }
    }

    private func watch(in time: TimeAmount) {
        guard let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard let context = self.context else { return }
            switch keepalive.action(at: context.eventLoop.now) {
            case .wait(let time): watch(in: time)
            case .ask(let time):
                write(.ping(keepaliveData, ack: false), on: .rootStream)
                flush()
                watch(in: time)
            case .close: context.close(promise: nil)
            }
        }
    }

    private func notePing() {
        guard let context, !pings.admits(at: context.eventLoop.now) else { return }
        goAway(.enhanceYourCalm, last, "too_many_pings")
        closeSoon()
    }

    /// Asks the client to make no more calls, and ends when those that there are do.
    ///
    /// Calls may be on their way that it has made before it hears that, so that it is asked whether
    /// it has (RFC 9113, 6.8).
    private func leave() {
        guard phase == .open else { return }
        phase = .leaving
        goAway(.noError, .maxID)
        write(.ping(leavingData, ack: false), on: .rootStream)
        flush()
    }

    private func noteLeaving() {
        guard phase == .leaving else { return }
        phase = .left
        goAway(.noError, last)
        flush()
        closeIfLeft()
    }

    private func closeIfLeft() {
        if phase == .left, calls.isEmpty { closeSoon() }
    }

    /// Closes the connection at the end of the turn; what was written is sent before.
    private func closeSoon() {
        context?.eventLoop.assumeIsolated().execute { [self] in
            self.context?.flush()
            self.context?.close(promise: nil)
        }
    }

    private func goAway(_ code: HTTP2ErrorCode, _ last: HTTP2StreamID, _ reason: String? = nil) {
        write(
            .goAway(
                lastStreamID: last, errorCode: code,
                opaqueData: reason.map { ByteBuffer(string: $0) }),
            on: .rootStream)
    }
}
