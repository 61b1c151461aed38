import GRPCCore
import LarderHTTP
import LarderWire
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A gRPC call on a stream of HTTP/2.
///
/// Decodes the requests of the stream. A ``ShortCall`` and a ``LiveCall`` are served here; any
/// other call is passed to gRPC with its requests as a sequence. Confined to the connection's event
/// loop.
final class Call: HTTP2StreamHandler {
    private enum RequestState {
        /// No headers yet, or the call has ended.
        case closed
        /// A possibly short call, with its request if received.
        case short(ShortCall, RequestHeaders, [UInt8]?)
        /// A short call in progress.
        case answering(Task<Void, Never>?)
        /// gRPC consumes them.
        case open(CallRequests)
        /// A stream consumes them one by one.
        case live(any LiveCall)
    }

    /// The unsent bytes above which the producer of responses waits.
    private static let bytesAhead = 64 << 10
    /// The bytes of responses after which their sending is tracked.
    private static let markBytes = 16 << 10
    /// The time that a client has to end its side after the response.
    private static let patience = TimeAmount.seconds(5)

    private let id: HTTP2StreamID
    private let connection: HTTP2Connection
    let loop: any EventLoop
    private let meter: RequestMeter
    private var reader: MessageReader
    private var requestState = RequestState.closed
    /// Received bytes that are not decoded yet.
    private var received = ByteBuffer()
    /// Received bytes that no window update has returned yet.
    private var uncredited = 0
    private var isReading = false
    /// Whether the client has ended its side.
    private var hasEnded = false
    /// Whether the response has begun.
    private var hasAnswered = false
    /// Whether the call has ended.
    private var isOver = false
    /// Bytes of responses that are not sent yet.
    private var unsentBytes = 0
    /// Bytes of later responses, not tracked yet.
    private var unmarkedBytes = 0
    /// Producers waiting for responses to be sent.
    private var waiters: [(Result<Void, RPCError>) -> Void] = []
    private var deadline: Scheduled<Void>?
    /// The timeout of a partial request, or of a client that does not end its side.
    private var timeout: Scheduled<Void>?

    private let context: CallContext

    init(
        _ id: HTTP2StreamID, of connection: HTTP2Connection, in context: CallContext,
        on loop: any EventLoop
    ) {
        self.id = id
        self.connection = connection
        self.context = context
        self.loop = loop
        meter = RequestMeter(context.budget, loop)
        reader = MessageReader(maxBytes: context.limits.requestBytes)
    }

    // MARK: Stream

    func begin(_ headers: HPACKHeaders, isWhole: Bool) {
        hasEnded = isWhole
        do throws(CallRefusal) {
            let headers = try RequestHeaders(headers, token: context.token, access: context.access)
            if let timeout = headers.timeout { setDeadline(TimeAmount(timeout.duration)) }
            switch context.routes[headers.path] {
            case .short(let short): requestState = .short(short, headers, nil)
            case .live(let method): serve(method, headers)
            case .long(let method): serve(method, headers)
            case nil:
                throw CallRefusal(.unimplemented, "this server has no method \(headers.path)")
            }
            if isWhole { finishRequests() }
        } catch {
            end(error.headers)
        }
    }

    func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {
        hasEnded = isLast
        guard !isOver else { return }
        uncredited += size
        if received.readableBytes == 0 {
            received = bytes
        } else {
            received.writeImmutableBuffer(bytes)
        }
        read()
    }

    func close() {
        isOver = true
        stop()
    }

    // MARK: Requests

    /// Decodes received bytes as far as there is budget and the receiver is ready.
    func read() {
        guard !isReading else { return }
        isReading = true
        defer { isReading = false }
        do throws(RPCError) {
            while canRead, let step = try reader.next(&received) {
                switch step {
                case .begins(let length): begin(length)
                case .message(let message): take(message)
                }
            }
        } catch {
            return refuse(error)
        }
        guard canRead else { return }
        // Copies the rest, a part of a prefix, to release the buffer.
        received =
            received.readableBytes == 0
            ? ByteBuffer() : ByteBuffer(bytes: received.readableBytesView)
        if hasEnded { finishRequests() } else { credit() }
    }

    /// Whether there is budget, and the receiver is ready.
    private var canRead: Bool {
        if case .live(let call) = requestState, call.isBusy { return false }
        return !isOver && !meter.isWaiting
    }

    private func begin(_ length: Int) {
        let bytes = MessageReader.prefixBytes + length
        // The previous request is complete.
        stopTimeout()
        if bytes > RequestBudget.smallBytes { setTimeout(TimeAmount(context.limits.requestTime)) }
        if case .short(let short, let headers, let first) = requestState,
            length > ShortCall.maxRequestBytes || first != nil
        {
            takeLong(short, headers, first)
        }
        // Released at the call's end.
        meter.hold(bytes) { [self] in read() }
    }

    private func take(_ message: [UInt8]) {
        stopTimeout()
        switch requestState {
        case .short(let short, let headers, _): requestState = .short(short, headers, message)
        case .open(let requests): requests.add(message)
        case .live(let call): call.take(message)
        case .closed, .answering: break
        }
    }

    private func finishRequests() {
        guard reader.isBetween, received.readableBytes == 0 else {
            return refuse(
                RPCError(code: .internalError, message: "the request ends inside a message"))
        }
        switch requestState {
        case .short(let short, let headers, let message):
            if let message, let work = short.take(message) {
                serve(short, headers, work)
            } else {
                takeLong(short, headers, message).finish()
            }
        case .open(let requests): requests.finish()
        case .live(let call): call.finish()
        case .closed, .answering: break
        }
    }

    /// Passes a call that is not short to gRPC.
    @discardableResult
    private func takeLong(
        _ short: ShortCall, _ headers: RequestHeaders, _ message: [UInt8]?
    ) -> CallRequests {
        let requests = serve(short.method, headers)
        if let message { requests.add(message) }
        return requests
    }

    /// Returns receive window once half of it is used, unless many requests are unread.
    private func credit() {
        guard uncredited >= HTTP2Connection.windowBytes / 2, !hasEnded, canRead else { return }
        if case .open(let requests) = requestState, requests.isFull { return }
        connection.write(.windowUpdate(windowSizeIncrement: uncredited), on: id)
        uncredited = 0
        connection.flush()
    }

    // MARK: Serving

    @discardableResult
    private func serve(_ method: MethodDescriptor, _ headers: RequestHeaders) -> CallRequests {
        let bound = NIOLoopBound(self, eventLoop: loop)
        let requests = CallRequests(
            headers.metadata, fewBytes: HTTP2Connection.windowBytes / 2,
            becameFew: { [loop] in loop.execute { bound.value.credit() } })
        requestState = .open(requests)
        let stream = RPCStream(
            descriptor: method, inbound: RPCAsyncSequence(wrapping: requests),
            outbound: RPCWriter.Closable(wrapping: CallResponses(call: bound, loop: loop)))
        context.serve(stream, requests, connection.peers)
        return requests
    }

    private func serve(_ short: ShortCall, _ headers: RequestHeaders, _ work: ShortCall.Work) {
        requestState = .answering(nil)
        let monitored = short.monitor.begin(short.method, headers.metadata)
        let bound = NIOLoopBound(self, eventLoop: loop)
        let reply: ShortCall.Reply<[[UInt8]]> = { [loop] messages in
            loop.executeOrRun { bound.value.end(monitored, messages) }
        }
        do {
            if try monitored.run({ try context.begin(work, reply) }) { return }
        } catch {
            return refuse(monitored.failed(error))
        }
        let task = context.serve {
            do {
                let messages = try await monitored.run(work.async)
                reply { messages }
            } catch {
                reply { throw error }
            }
        }
        if !isOver { requestState = .answering(task) }
    }

    /// Ends a call with its whole response.
    private func end(_ monitored: MonitoredCall, _ messages: () throws -> [[UInt8]]) {
        do throws(RPCError) {
            let messages = try monitored.finish(messages)
            guard !isOver else { return }
            begin(ResponseHeaders.beginning)
            write(FramedResponses.framed(messages))
            end(ResponseHeaders.success)
        } catch {
            refuse(error)
        }
    }

    private func serve(_ method: LiveMethod, _ headers: RequestHeaders) {
        begin(ResponseHeaders.beginning)
        connection.flush()
        let call = method.open(self, headers, context)
        if isOver { call.close() } else { requestState = .live(call) }
    }

    // MARK: Responses

    /// Writes responses.
    ///
    /// - Returns: whether the client is far behind.
    /// - Throws: `cancelled` after the call's end.
    func write(_ answers: FramedResponses) throws(RPCError) -> Bool {
        guard !isOver else { throw .clientHasLeft }
        let isMore = answers.ending == nil || answers.count > 0
        if !hasAnswered, isMore { begin(ResponseHeaders.beginning(answers.metadata)) }
        if answers.count > 0 { write(answers.bytes) }
        // A call whose client has ended its side keeps its budget until its end.
        if !hasEnded { meter.release(requests: answers.count) }
        if let (status, metadata) = answers.ending {
            end(ResponseHeaders.ending(status, metadata, hasAnswered))
        }
        connection.flush()
        return unsentBytes > Self.bytesAhead
    }

    /// Writes responses of a call that has begun, unless it has ended.
    ///
    /// - Returns: whether the client is far behind.
    func write(_ messages: [[UInt8]]) -> Bool {
        guard !isOver, !messages.isEmpty else { return false }
        write(FramedResponses.framed(messages))
        if !hasEnded { meter.release(requests: messages.count) }
        connection.flush()
        return unsentBytes > Self.bytesAhead
    }

    /// Ends a call with success.
    func end() {
        end(ResponseHeaders.success)
    }

    /// Calls a closure once the client is no longer far behind, or with an error at the call's end.
    func wait(_ resume: @escaping (Result<Void, RPCError>) -> Void) {
        if isOver {
            resume(.failure(.clientHasLeft))
        } else if unsentBytes > Self.bytesAhead {
            waiters.append(resume)
        } else {
            resume(.success(()))
        }
    }

    /// Ends the call with an error and cancels its work.
    func refuse(_ error: RPCError) {
        end(ResponseHeaders.ending(error, hasBegun: hasAnswered))
    }

    private func begin(_ headers: HPACKHeaders) {
        hasAnswered = true
        connection.write(.headers(.init(headers: headers)), on: id)
    }

    private func write(_ bytes: ByteBuffer) {
        unmarkedBytes += bytes.readableBytes
        connection.write(.data(.init(data: .byteBuffer(bytes))), on: id, mark())
    }

    /// A promise that completes when the responses so far are sent; nil while they are few.
    private func mark() -> EventLoopPromise<Void>? {
        let size = unmarkedBytes
        guard size >= Self.markBytes else { return nil }
        unmarkedBytes = 0
        unsentBytes += size
        let sent = loop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { [self] _ in
            unsentBytes -= size
            guard unsentBytes <= Self.bytesAhead, !isOver else { return }
            let ready = waiters
            waiters = []
            for resume in ready { resume(.success(())) }
        }
        return sent
    }

    /// Ends the response; an immediate reset could overtake it, so the client gets time to end its
    /// side.
    private func end(_ headers: HPACKHeaders) {
        guard !isOver else { return }
        isOver = true
        stop()
        if !hasEnded {
            timeout = loop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in
                connection.reset(id)
            }
        }
        connection.write(.headers(.init(headers: headers, endStream: true)), on: id)
        connection.flush()
    }

    /// Releases the call's budget and cancels its work.
    private func stop() {
        deadline?.cancel()
        stopTimeout()
        meter.releaseAll()
        received = ByteBuffer()
        let served = requestState
        requestState = .closed
        switch served {
        case .answering(let task): task?.cancel()
        case .open(let requests): requests.cancel()
        case .live(let call): call.close()
        case .closed, .short: break
        }
        let gone = waiters
        waiters = []
        for resume in gone { resume(.failure(.clientHasLeft)) }
    }

    // MARK: Timeouts

    private func setDeadline(_ time: TimeAmount) {
        deadline = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            refuse(
                RPCError(code: .deadlineExceeded, message: "the deadline of the call has passed"))
        }
    }

    private func setTimeout(_ time: TimeAmount) {
        timeout = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            refuse(
                RPCError(
                    code: .resourceExhausted,
                    message:
                        "the request was not received in time: it is too slow, or the server's request memory is in use"
                ))
        }
    }

    private func stopTimeout() {
        timeout?.cancel()
        timeout = nil
    }
}
