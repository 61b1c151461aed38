package import LarderCore
package import NIOCore
package import NIOHPACK
package import NIOHTTP2

/// Serves one stream of an HTTP/2 connection; confined to the connection's event loop.
package protocol HTTP2StreamHandler: AnyObject {
    /// Receives the headers of the request.
    ///
    /// - Parameter isWhole: whether the request has no body.
    func begin(_ headers: HPACKHeaders, isWhole: Bool)

    /// Receives a part of the body.
    ///
    /// - Parameter size: the receive window that it takes up, with padding; the handler returns it
    ///   with a window update.
    func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool)

    /// Called once, at the end of the stream for whatever reason.
    func close()

    /// The memory that the stream holds for its requests and for events that are not answered yet.
    var heldBytes: Int { get }

    /// Ends the stream with an error, see ``HTTP2Connection/abandon(_:_:)``.
    func refuse(_ cause: StreamRefusal)

    /// Called when a window update that ``HTTP2Connection/mayCredit(_:)`` refused may be sent.
    func resume()

    /// Called when the work that ``HTTP2Connection/mayProceed(_:)`` refused may begin.
    func proceed()
}

/// A cause for which a connection ends a stream.
package enum StreamRefusal: Sendable {
    /// The client has not taken data of the response for a while.
    case stalled
    /// The server's memory is used up, and the stream holds the most of the connection that holds
    /// the most.
    case memory
}

/// The streams of an HTTP/2 connection: passes each stream's frames to its handler, writes theirs,
/// and keeps the connection alive.
///
/// Follows ``HTTP2Handler`` in the pipeline. Everything written in one tick of the event loop is
/// flushed once, at its end: a single response is not delayed, and several are sent together.
package final class HTTP2Connection: ChannelDuplexHandler {
    package typealias InboundIn = HTTP2Frame
    package typealias OutboundIn = HTTP2Frame
    package typealias OutboundOut = HTTP2Frame

    package struct Limits: Sendable {
        package var streams: Int
        /// Streams that a client may reset in 30 seconds.
        package var resets: Int
        /// How long the client may be silent before it is pinged.
        package var keepaliveInterval: Duration
        /// How long the client may take to acknowledge a ping.
        package var keepaliveTimeout: Duration
        /// The least time between two pings of the client.
        package var pingInterval: Duration
        /// How long the client may take no data of a response before it loses the call.
        package var dataPatience: Duration

        package init(
            streams: Int, resets: Int, keepaliveInterval: Duration, keepaliveTimeout: Duration,
            pingInterval: Duration, dataPatience: Duration = .seconds(30)
        ) {
            self.streams = streams
            self.resets = resets
            self.keepaliveInterval = keepaliveInterval
            self.keepaliveTimeout = keepaliveTimeout
            self.pingInterval = pingInterval
            self.dataPatience = dataPatience
        }
    }

    /// The addresses of a connection's ends, for logs.
    package struct Peers: Sendable {
        /// The client's address.
        package var remote = ""
        /// The server's address.
        package var local = ""
    }

    /// Makes the handler of a new stream from the headers of its request.
    package typealias MakeStream =
        (HPACKHeaders, HTTP2StreamID, HTTP2Connection, any EventLoop) -> any HTTP2StreamHandler

    /// The connection ends in three steps, see ``leave()``.
    private enum Phase {
        case open
        /// GOAWAY and a ping are sent.
        case leaving
        /// The ping is acknowledged; the connection ends with its last stream.
        case left
    }

    /// The receive window of a stream and of the connection.
    package static let windowBytes = 1 << 20
    /// The connection's window before the first update (RFC 9113, 6.9.2).
    private static let firstWindowBytes = 65_535

    /// The addresses of the connection.
    package private(set) var peers = Peers()
    private let limits: Limits
    private let makeStream: MakeStream
    private var context: ChannelHandlerContext?
    private var streams: [HTTP2StreamID: any HTTP2StreamHandler] = [:]
    private var last = HTTP2StreamID.rootStream
    private var phase = Phase.open
    /// The account of the connection's memory.
    package let memory: MemoryAccount
    private var http2: HTTP2Handler?
    private var turns = TurnQueue()
    private var credits = CreditQueue()
    /// True if the connection's window is kept closed, since it holds too much.
    private var isParked = false
    private var isReading = false
    private var isFlushDue = false
    /// Received bytes of all streams that no window update has returned yet.
    private var uncredited = HTTP2Connection.windowBytes - HTTP2Connection.firstWindowBytes
    private var keepalive: Keepalive
    private var pings: PingGuard
    private var timer: Scheduled<Void>?
    private let keepaliveData = HTTP2PingData(withInteger: .random(in: 1...UInt64.max / 2))
    private let leavingData = HTTP2PingData(withInteger: 0)

    private final class WeakReference {
        weak var value: HTTP2Connection?
    }

    /// - Parameters:
    ///   - loop: the connection's event loop, which must be the current one.
    ///   - address: the address of the client; empty if it has none.
    ///   - ledger: counts the memory of the connection.
    package init(
        _ limits: Limits, on loop: any EventLoop, of address: String = "",
        _ ledger: MemoryLedger = MemoryLedger(limit: .max), makeStream: @escaping MakeStream
    ) {
        self.limits = limits
        self.makeStream = makeStream
        keepalive = Keepalive(
            interval: limits.keepaliveInterval, timeout: limits.keepaliveTimeout, now: loop.now)
        pings = PingGuard(interval: limits.pingInterval)
        let reference = WeakReference()
        let bound = NIOLoopBound(reference, eventLoop: loop)
        memory = ledger.open(for: address) { completion in
            loop.execute {
                bound.value.value?.relieve()
                completion()
            }
        }
        reference.value = self
    }

    /// Adds HTTP/2 to the end of a connection's pipeline; call it on the connection's event loop.
    ///
    /// - Parameters:
    ///   - ledger: counts the memory of the connection.
    ///   - report: called with violations of the protocol and failures.
    package static func add(
        to channel: any Channel, _ limits: Limits,
        _ ledger: MemoryLedger = MemoryLedger(limit: .max),
        report: @escaping HTTP2Fault.Report = { _ in }, makeStream: @escaping MakeStream
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let selector = try? pipeline.handler(type: ProtocolSelector.self)
        let connection = HTTP2Connection(
            limits, on: channel.eventLoop, of: channel.remoteAddress?.ipAddress ?? "", ledger,
            makeStream: makeStream)
        let http2 = try HTTP2Handler(
            HTTP2Handler.Limits(
                windowBytes: windowBytes, streams: min(max(limits.streams, 1), Int(Int32.max)),
                resets: max(limits.resets, 1)),
            patience: HTTP2Handler.Patience(data: TimeAmount(limits.dataPatience)),
            start: selector?.start, memory: connection.memory, report: report)
        connection.http2 = http2
        http2.wrote = { [weak connection] in connection?.proceed() }
        try pipeline.addHandlers(http2, connection)
    }

    // MARK: Writing

    package func write(
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

    /// Flushes at the end of the event loop's tick.
    package func flush() {
        // HTTP/2 flushes at the end of a read.
        guard !isReading, !isFlushDue, let context else { return }
        isFlushDue = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isFlushDue = false
            self.context?.flush()
        }
    }

    /// Ends a stream with trailers, discarding data that the client has not taken.
    package func abandon(_ id: HTTP2StreamID, _ trailers: HPACKHeaders) {
        if let http2 {
            http2.abandon(Int32(Int(id)), trailers)
        } else {
            write(.headers(.init(headers: trailers, endStream: true)), on: id)
        }
        flush()
    }

    /// Resets a stream whose client has its response and does not end it.
    package func reset(_ id: HTTP2StreamID) {
        write(.rstStream(.noError), on: id)
        flush()
    }

    // MARK: Reading

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): begin(frame.streamID, headers)
        case .data(let data): receive(frame.streamID, data)
        case .ping(let data, ack: true): if data == leavingData { acknowledgedLeaving() }
        case .ping(_, ack: false): receivedPing()
        default: break
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        keepalive.received(at: context.eventLoop.now)
        credit()
        context.fireChannelReadComplete()
    }

    /// Returns the connection's window once half of it is used, unless the connection holds more
    /// than half of the memory of the server.
    private func credit() {
        guard uncredited >= Self.windowBytes / 2 else { return }
        isParked = memory.heldBytes > memory.limit / 2
        guard !isParked else { return }
        write(.windowUpdate(windowSizeIncrement: uncredited), on: .rootStream)
        uncredited = 0
        flush()
    }

    /// True if the window of a stream may be returned.
    ///
    /// While the connection holds more than a quarter of the server's memory, its requests are
    /// received one after the other; ``HTTP2StreamHandler/resume()`` follows a refusal.
    package func mayCredit(_ id: HTTP2StreamID) -> Bool {
        credits.admits(id, isScarce: memory.heldBytes > memory.limit / 4)
    }

    /// True if work for a stream may begin: the client takes its responses, and not too much is in
    /// progress.
    ///
    /// ``HTTP2StreamHandler/proceed()`` follows a refusal.
    package func mayProceed(_ id: HTTP2StreamID) -> Bool {
        turns.admits(id, unsentBytes: http2?.unsentBytes ?? 0)
    }

    /// Notes that work of a stream has begun that ends later.
    package func beganWork() {
        turns.running += 1
    }

    package func endedWork() {
        turns.running -= 1
        proceed()
    }

    private func proceed() {
        while let next = turns.next(unsentBytes: http2?.unsentBytes ?? 0) {
            streams[next]?.proceed()
        }
    }

    /// Notes that a request is complete, or that its memory is released.
    package func released(_ id: HTTP2StreamID) {
        if isParked { credit() }
        guard !credits.isEmpty else { return }
        let isScarce = memory.heldBytes > memory.limit / 4
        for next in credits.released(id, isScarce: isScarce) { streams[next]?.resume() }
    }

    private func begin(_ id: HTTP2StreamID, _ headers: HTTP2Frame.FramePayload.Headers) {
        if let stream = streams[id] {
            // Trailers end the body; nothing in them is used.
            guard headers.endStream else { return write(.rstStream(.protocolError), on: id) }
            return stream.receive(ByteBuffer(), size: 0, isLast: true)
        }
        guard let context else { return }
        last = id
        let stream = makeStream(headers.headers, id, self, context.eventLoop)
        streams[id] = stream
        stream.begin(headers.headers, isWhole: headers.endStream)
    }

    private func receive(_ id: HTTP2StreamID, _ data: HTTP2Frame.FramePayload.Data) {
        guard case .byteBuffer(let bytes) = data.data else { return }
        let size = bytes.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
        uncredited += size
        streams[id]?.receive(bytes, size: size, isLast: data.endStream)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as StreamClosedEvent:
            streams.removeValue(forKey: event.streamID)?.close()
            released(event.streamID)
            closeIfLeft()
        case let event as StalledStream:
            streams[event.id]?.refuse(.stalled)
        case is ChannelShouldQuiesceEvent: leave()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: Connection

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let describe = { (address: SocketAddress?) in address.map { "\($0)" } ?? "unknown" }
        peers = Peers(
            remote: describe(context.remoteAddress), local: describe(context.localAddress))
        watch(in: TimeAmount(limits.keepaliveInterval))
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    package func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        if isFlushDue { context.flush() }
        context.close(mode: mode, promise: promise)
    }

    private func end() {
        timer?.cancel()
        let open = streams
        streams = [:]
        for stream in open.values { stream.close() }
        memory.close()
    }

    // MARK: Memory

    /// Ends the stream that holds the most, or closes the connection if none holds anything.
    private func relieve() {
        let sizes = streams.map { id, stream in
            (id: id, bytes: stream.heldBytes + (http2?.unsentBytes(of: Int32(Int(id))) ?? 0))
        }
        if let largest = sizes.max(by: { $0.bytes < $1.bytes }), largest.bytes > 0 {
            streams[largest.id]?.refuse(.memory)
        } else {
            context?.close(promise: nil)
        }
    }

    private func watch(in time: TimeAmount) {
        guard let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            guard let context = self.context else { return }
            switch keepalive.action(at: context.eventLoop.now) {
            case .wait(let time): watch(in: time)
            case .ping(let time):
                write(.ping(keepaliveData, ack: false), on: .rootStream)
                flush()
                watch(in: time)
            case .close: context.close(promise: nil)
            }
        }
    }

    private func receivedPing() {
        guard let context, !pings.admits(at: context.eventLoop.now) else { return }
        goAway(.enhanceYourCalm, last, "too_many_pings")
        closeSoon()
    }

    /// Stops accepting streams, and closes the connection after the last one.
    ///
    /// The client may have opened streams before it receives GOAWAY; a ping tells when it has
    /// (RFC 9113, 6.8).
    private func leave() {
        guard phase == .open else { return }
        phase = .leaving
        goAway(.noError, .maxID)
        write(.ping(leavingData, ack: false), on: .rootStream)
        flush()
    }

    private func acknowledgedLeaving() {
        guard phase == .leaving else { return }
        phase = .left
        goAway(.noError, last)
        flush()
        closeIfLeft()
    }

    private func closeIfLeft() {
        if phase == .left, streams.isEmpty { closeSoon() }
    }

    /// Flushes and closes the connection at the end of the event loop's tick.
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
