import GRPCCore
import LarderHTTP
import LarderWire
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A call on a connection: a stream of HTTP/2.
///
/// Its requests are read as they come. A ``ShortCall`` is answered from here once it is whole, a
/// ``LiveCall`` is served from here; anything else is handed to what serves calls, with its
/// requests as a sequence. Used on the connection's event loop.
final class Call: HTTP2StreamHandler {
    /// What becomes of the requests.
    private enum Intake {
        /// Nothing: the headers have not come, or the call is over.
        case closed
        /// A call that may be short has begun, and perhaps its request has come.
        case short(ShortCall, RequestHeaders, [UInt8]?)
        /// A short call is served.
        case answering(Task<Void, Never>?)
        /// What serves the call takes them, in its own time.
        case open(CallRequests)
        /// It takes one after the other.
        case live(any LiveCall)
    }

    /// How far answers may be ahead of their client before what makes them waits.
    private static let bytesAhead = 64 << 10
    /// After how many bytes of answers it is noted when they are on their way.
    private static let markBytes = 16 << 10
    /// How long a client that has been answered may take to end its side.
    private static let patience = TimeAmount.seconds(5)

    private let id: HTTP2StreamID
    private let connection: HTTP2Connection
    let loop: any EventLoop
    private let meter: RequestMeter
    private var reader: MessageReader
    private var intake = Intake.closed
    /// What has come and is not read.
    private var received = ByteBuffer()
    /// Bytes that have come and that the client has not been told of as taken.
    private var uncredited = 0
    private var isReading = false
    /// Whether the client has said everything.
    private var hasEnded = false
    /// Whether the answer has begun.
    private var hasAnswered = false
    /// Whether the call has been answered, or is gone.
    private var isOver = false
    /// Answers that are not known to be on their way.
    private var unsentBytes = 0
    /// Answers behind these, which are few.
    private var unmarkedBytes = 0
    /// Those who wait until these are few.
    private var waiters: [(Result<Void, RPCError>) -> Void] = []
    private var deadline: Scheduled<Void>?
    /// When a request that is not whole is given up; when a client that does not go is.
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

    // MARK: What the client says

    /// Begins.
    ///
    /// - Parameter isWhole: whether that is all.
    func begin(_ headers: HPACKHeaders, isWhole: Bool) {
        hasEnded = isWhole
        do throws(CallRefusal) {
            let headers = try RequestHeaders(headers, token: context.token, access: context.access)
            if let timeout = headers.timeout { setDeadline(TimeAmount(timeout.duration)) }
            switch context.routes[headers.path] {
            case .short(let short): intake = .short(short, headers, nil)
            case .live(let method): serve(method, headers)
            case .long(let method): serve(method, headers)
            case nil:
                throw CallRefusal(.unimplemented, "\(headers.path) is not a call of this server")
            }
            if isWhole { finishRequests() }
        } catch {
            end(error.headers)
        }
    }

    /// Takes more of the requests.
    ///
    /// - Parameter size: what that takes of the room that the client has been told of.
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

    /// The stream is no more.
    func close() {
        isOver = true
        stop()
    }

    // MARK: Requests

    /// Reads what has come, as far as it can be taken.
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
        // What is left, a part of a prefix, shall not hold what it came with.
        received =
            received.readableBytes == 0
            ? ByteBuffer() : ByteBuffer(bytes: received.readableBytesView)
        if hasEnded { finishRequests() } else { credit() }
    }

    /// Whether there is room for more, and whoever takes it is ready.
    private var canRead: Bool {
        if case .live(let call) = intake, call.isBusy { return false }
        return !isOver && !meter.isWaiting
    }

    private func begin(_ length: Int) {
        let bytes = MessageReader.prefixBytes + length
        // Where one begins, those before it are whole.
        stopTimeout()
        if bytes > RequestBudget.smallBytes { setTimeout(TimeAmount(context.limits.requestTime)) }
        if case .short(let short, let headers, let first) = intake,
            length > ShortCall.maxRequestBytes || first != nil
        {
            takeLong(short, headers, first)
        }
        // Whose end lets go of this.
        meter.hold(bytes) { [self] in read() }
    }

    private func take(_ message: [UInt8]) {
        stopTimeout()
        switch intake {
        case .short(let short, let headers, _): intake = .short(short, headers, message)
        case .open(let requests): requests.add(message)
        case .live(let call): call.take(message)
        case .closed, .answering: break
        }
    }

    private func finishRequests() {
        guard reader.isBetween, received.readableBytes == 0 else {
            return refuse(
                RPCError(code: .internalError, message: "the request ends within a message"))
        }
        switch intake {
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

    /// Goes on with a call that is not short.
    @discardableResult
    private func takeLong(
        _ short: ShortCall, _ headers: RequestHeaders, _ message: [UInt8]?
    ) -> CallRequests {
        let requests = serve(short.method, headers)
        if let message { requests.add(message) }
        return requests
    }

    /// Tells the client of room again once half of it is taken, unless much lies here.
    private func credit() {
        guard uncredited >= HTTP2Connection.windowBytes / 2, !hasEnded, canRead else { return }
        if case .open(let requests) = intake, requests.isFull { return }
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
        intake = .open(requests)
        let stream = RPCStream(
            descriptor: method, inbound: RPCAsyncSequence(wrapping: requests),
            outbound: RPCWriter.Closable(wrapping: CallResponses(call: bound, loop: loop)))
        context.serve(stream, requests, connection.peers)
        return requests
    }

    private func serve(_ short: ShortCall, _ headers: RequestHeaders, _ work: ShortCall.Work) {
        intake = .answering(nil)
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
        if !isOver { intake = .answering(task) }
    }

    /// Ends a call whose whole answer this is.
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
        if isOver { call.close() } else { intake = .live(call) }
    }

    // MARK: Answers

    /// Writes answers.
    ///
    /// - Returns: whether the client is far behind.
    /// - Throws: `cancelled` where the call has ended.
    func write(_ answers: FramedResponses) throws(RPCError) -> Bool {
        guard !isOver else { throw .clientHasLeft }
        let isMore = answers.ending == nil || answers.count > 0
        if !hasAnswered, isMore { begin(ResponseHeaders.beginning(answers.metadata)) }
        if answers.count > 0 { write(answers.bytes) }
        // A call that has said everything holds its request to its end.
        if !hasEnded { meter.release(requests: answers.count) }
        if let (status, metadata) = answers.ending {
            end(ResponseHeaders.ending(status, metadata, hasAnswered))
        }
        connection.flush()
        return unsentBytes > Self.bytesAhead
    }

    /// Writes answers of a call that has begun, unless it is over.
    ///
    /// - Returns: whether the client is far behind.
    func write(_ messages: [[UInt8]]) -> Bool {
        guard !isOver, !messages.isEmpty else { return false }
        write(FramedResponses.framed(messages))
        if !hasEnded { meter.release(requests: messages.count) }
        connection.flush()
        return unsentBytes > Self.bytesAhead
    }

    /// Ends a call that has begun in good order.
    func end() {
        end(ResponseHeaders.success)
    }

    /// Goes on when the client is not far behind any longer, or with an error when the call ends.
    func wait(_ goOn: @escaping (Result<Void, RPCError>) -> Void) {
        if isOver {
            goOn(.failure(.clientHasLeft))
        } else if unsentBytes > Self.bytesAhead {
            waiters.append(goOn)
        } else {
            goOn(.success(()))
        }
    }

    /// Ends the call with an error; whatever serves it is cancelled.
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

    /// What tells when the answers so far are on their way; nil while these are few.
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
            for goOn in ready { goOn(.success(())) }
        }
        return sent
    }

    /// Ends the answer; the client has some time to end its side, as a reset could overtake it.
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

    /// Lets go of what the call holds, and of what serves it.
    private func stop() {
        deadline?.cancel()
        stopTimeout()
        meter.releaseAll()
        received = ByteBuffer()
        let served = intake
        intake = .closed
        switch served {
        case .answering(let task): task?.cancel()
        case .open(let requests): requests.cancel()
        case .live(let call): call.close()
        case .closed, .short: break
        }
        let gone = waiters
        waiters = []
        for goOn in gone { goOn(.failure(.clientHasLeft)) }
    }

    // MARK: Time

    private func setDeadline(_ time: TimeAmount) {
        deadline = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            refuse(RPCError(code: .deadlineExceeded, message: "the call's time is over"))
        }
    }

    private func setTimeout(_ time: TimeAmount) {
        timeout = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            refuse(
                RPCError(
                    code: .resourceExhausted,
                    message: "the request is too slow, or there are too many"))
        }
    }

    private func stopTimeout() {
        timeout?.cancel()
        timeout = nil
    }
}
