import GRPCCore
import LarderCore
import LarderHTTP
import LarderModel
import LarderWire
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A gRPC call on a stream of HTTP/2: decodes its requests, passes them to the call's method, and
/// writes the responses at the pace of the client.
///
/// Confined to the connection's event loop.
///
/// ```
/// closed --> request --> serving --> paging --> closed
///       \--> stream ------------------------/
/// ```
final class Call: HTTP2StreamHandler {
    private enum State {
        /// No headers yet, or the call has ended.
        case closed
        /// Receives the only request.
        case request(RequestMethod, RequestHeaders, [UInt8]?)
        /// The request is being served, by the task if any.
        case serving(Task<Void, Never>?)
        /// The response is sent page by page.
        case paging(PagedResponse, MonitoredCall)
        /// A stream receives requests one by one.
        case stream(any OpenStream)
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
    /// The account of the call's memory, a part of the connection's.
    let memory: MemoryAccount
    private var requests: RequestMemory
    /// A request that waits for admission.
    private var waiting: (id: UInt64, message: [UInt8])?
    private var reader: MessageReader
    private var state = State.closed
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
    private var waiters: [() -> Void] = []
    private var deadline: Scheduled<Void>?
    /// The timeout of a partial request, or of a client that does not end its side.
    private var timeout: Scheduled<Void>?
    /// Releases the snapshot of a slow client's response.
    private var unpinning: Scheduled<Void>?

    private let context: CallContext

    init(
        _ id: HTTP2StreamID, of connection: HTTP2Connection, in context: CallContext,
        on loop: any EventLoop
    ) {
        self.id = id
        self.connection = connection
        self.context = context
        self.loop = loop
        memory = connection.memory.open()
        requests = RequestMemory(memory, context.admission)
        reader = MessageReader(maxBytes: context.limits.acceptedRequestBytes)
    }

    // MARK: Stream

    func begin(_ headers: HPACKHeaders, isWhole: Bool) {
        hasEnded = isWhole
        do throws(CallRefusal) {
            let headers = try RequestHeaders(headers, token: context.token, access: context.access)
            reader.encoding = headers.encoding
            if let timeout = headers.timeout { setDeadline(TimeAmount(timeout.duration)) }
            switch context.methods[headers.path] {
            case .request(let method): state = .request(method, headers, nil)
            case .stream(let method): open(method, headers)
            case nil:
                throw CallRefusal(.unimplemented, "this server has no method \(headers.path)")
            }
            if isWhole { finishRequests() }
        } catch {
            if let (kind, reason) = error.access {
                context.monitor?.note(
                    kind, reason, over: .grpc, address: connection.memory.address)
            }
            sendTrailers(error.headers)
        }
    }

    func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {
        hasEnded = isLast
        guard !isOver else { return }
        uncredited += size
        requests.receive(bytes.readableBytes)
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

    /// Decodes received bytes as far as the receiver is ready.
    func read() {
        guard !isReading else { return }
        isReading = true
        defer { isReading = false }
        do throws(RPCError) {
            while canRead, let step = try reader.next(&received) {
                switch step {
                case .begins: stopTimeout()
                case .message(let message): try take(message)
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
        if hasEnded { return finishRequests() }
        if timeout == nil, !reader.isBetween || received.readableBytes > 0 {
            setTimeout(TimeAmount(context.limits.requestTime))
        }
        credit()
    }

    /// True if the receiver is ready.
    private var canRead: Bool {
        if case .stream(let stream) = state, stream.isBusy { return false }
        return !isOver && waiting == nil
    }

    /// Passes a request on; a large one once it is admitted.
    private func take(_ message: [UInt8]) throws(RPCError) {
        stopTimeout()
        let size = MessageReader.prefixBytes + message.count
        if let bytes = RequestMemory.admissionBytes(size) {
            let bound = NIOLoopBound(self, eventLoop: loop)
            let id = context.admission.admit(bytes) { [loop] id in
                loop.execute { bound.value.admitted(id, bytes) }
            }
            if let id {
                waiting = (id, message)
                return setTimeout(TimeAmount(context.limits.requestTime))
            }
        }
        try pass(message)
    }

    private func admitted(_ id: UInt64, _ bytes: Int) {
        guard let waiting, waiting.id == id else { return context.admission.release(bytes) }
        self.waiting = nil
        stopTimeout()
        do throws(RPCError) {
            try pass(waiting.message)
        } catch {
            return refuse(error)
        }
        read()
    }

    private func pass(_ message: [UInt8]) throws(RPCError) {
        requests.complete(MessageReader.prefixBytes + message.count)
        connection.released(id)
        switch state {
        case .request(let method, let headers, nil): state = .request(method, headers, message)
        case .request: throw .wrongCount
        case .stream(let stream): stream.take(message)
        case .closed, .serving, .paging: break
        }
    }

    private func finishRequests() {
        guard reader.isBetween, received.readableBytes == 0 else {
            return refuse(.cutOff)
        }
        switch state {
        case .request(let method, let headers, let message):
            guard let message else { return refuse(.wrongCount) }
            if connection.mayProceed(id) { serve(method, headers, message) }
        case .stream(let stream): stream.finish()
        case .closed, .serving, .paging: break
        }
    }

    /// Returns receive window once half of it is used.
    private func credit() {
        guard uncredited >= HTTP2Connection.windowBytes / 2, !hasEnded, canRead,
            connection.mayCredit(id)
        else { return }
        connection.write(.windowUpdate(windowSizeIncrement: uncredited), on: id)
        uncredited = 0
        connection.flush()
    }

    func resume() {
        credit()
    }

    // MARK: Serving

    /// The origin of the call's work.
    var origin: CallOrigin { CallOrigin(connection.memory, memory) }

    func proceed() {
        switch state {
        case .request(let method, let headers, let message?): serve(method, headers, message)
        case .paging(let pages, _): produce(pages)
        default: break
        }
    }

    private func serve(_ method: RequestMethod, _ headers: RequestHeaders, _ message: [UInt8]) {
        state = .serving(nil)
        let monitored = method.monitor.begin(
            method.descriptor, headers.metadata, peer: connection.memory.address)
        let bound = NIOLoopBound(self, eventLoop: loop)
        let work: RequestMethod.Work
        do {
            work = try method.work(message)
            let isBegun = try monitored.run {
                try context.begin(work) { [loop] answer in
                    loop.executeOrRun { bound.value.respond(monitored, answer) }
                }
            }
            if isBegun { return }
        } catch {
            return refuse(monitored.failed(error))
        }
        connection.beganWork()
        let backlog = connection.memory.backlog
        let task = context.serve(origin) { [loop] in
            let result: Result<RequestMethod.Answer, any Error>
            do {
                result = .success(try await monitored.run(work.async))
            } catch {
                result = .failure(error)
            }
            let bytes =
                if case .success(.messages(let messages)) = result {
                    ResponsePage(messages: messages).bytes
                } else {
                    0
                }
            backlog.change(by: bytes)
            loop.executeOrRun {
                bound.value.answer(monitored, result)
                backlog.change(by: -bytes)
            }
        }
        if case .serving = state { state = .serving(task) }
    }

    private func answer(
        _ monitored: MonitoredCall, _ result: Result<RequestMethod.Answer, any Error>
    ) {
        guard case .success(.pages(let pages)) = result, !isOver else {
            connection.endedWork()
            if case .success(.pages(let pages)) = result { pages.close() }
            return respond(monitored) {
                guard case .messages(let messages) = try result.get() else {
                    throw RPCError.clientHasLeft
                }
                return messages
            }
        }
        state = .paging(pages, monitored)
        context.connections.beginCall()
        // The work goes on.
        request(pages)
    }

    /// Ends a call with its whole response.
    private func respond(_ monitored: MonitoredCall, _ messages: () throws -> [[UInt8]]) {
        do throws(RPCError) {
            let messages = try monitored.finish(messages)
            guard !isOver else { return }
            sendHeaders(ResponseHeaders.beginning)
            send(ResponseFraming.framed(messages))
            sendTrailers(ResponseHeaders.success)
        } catch {
            refuse(error)
        }
    }

    private func open(_ method: StreamMethod, _ headers: RequestHeaders) {
        sendHeaders(ResponseHeaders.beginning)
        connection.flush()
        let stream = method.open(self, headers, context)
        if isOver { stream.close() } else { state = .stream(stream) }
    }

    // MARK: Pages

    private func produce(_ pages: PagedResponse) {
        connection.beganWork()
        request(pages)
    }

    private func request(_ pages: PagedResponse) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        pages.next(for: origin) { [loop] page in
            loop.execute { bound.value.sendPage(page) }
        }
    }

    private func sendPage(_ page: Result<ResponsePage, LarderError>) {
        defer {
            if case .success(let page) = page { connection.memory.backlog.change(by: -page.bytes) }
            connection.endedWork()
        }
        guard case .paging(let pages, let monitored) = state else { return }
        switch page {
        case .failure(let error):
            endPaging(pages)
            refuse(monitored.failed(error))
        case .success(let page):
            if !hasAnswered { sendHeaders(ResponseHeaders.beginning) }
            if !page.messages.isEmpty { send(ResponseFraming.framed(page.messages)) }
            guard !page.isLast else {
                endPaging(pages)
                monitored.succeeded()
                return sendTrailers(ResponseHeaders.success)
            }
            connection.flush()
            if unpinning == nil {
                unpinning = loop.assumeIsolated().scheduleTask(
                    in: TimeAmount(context.limits.snapshotTime)
                ) {
                    pages.unpin()
                }
            }
            wait { [self] in if connection.mayProceed(id) { produce(pages) } }
        }
    }

    private func endPaging(_ pages: PagedResponse) {
        state = .closed
        unpinning?.cancel()
        pages.close()
        context.connections.endCall()
    }

    // MARK: Responses

    /// Writes responses of a stream, unless it has ended.
    ///
    /// - Returns: whether the client is far behind.
    func write(_ messages: [[UInt8]]) -> Bool {
        guard !isOver, !messages.isEmpty else { return false }
        send(ResponseFraming.framed(messages))
        requests.answer(messages.count)
        connection.released(id)
        connection.flush()
        return unsentBytes > Self.bytesAhead
    }

    /// Ends a call with success.
    func end() {
        sendTrailers(ResponseHeaders.success)
    }

    /// Calls a closure once the client is no longer far behind, unless the call ends before.
    func wait(_ resume: @escaping () -> Void) {
        guard !isOver else { return }
        if unsentBytes > Self.bytesAhead { waiters.append(resume) } else { resume() }
    }

    /// Ends the call with an error and cancels its work.
    func refuse(_ error: RPCError) {
        sendTrailers(ResponseHeaders.ending(error, hasBegun: hasAnswered))
    }

    private func sendHeaders(_ headers: HPACKHeaders) {
        hasAnswered = true
        connection.write(.headers(.init(headers: headers)), on: id)
    }

    private func send(_ bytes: ByteBuffer) {
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
            for resume in ready { resume() }
        }
        return sent
    }

    /// Ends the response; an immediate reset could overtake it, so the client gets time to end its
    /// side.
    private func sendTrailers(_ headers: HPACKHeaders) {
        guard !isOver else { return }
        finish()
        connection.write(.headers(.init(headers: headers, endStream: true)), on: id)
        connection.flush()
    }

    private func finish() {
        isOver = true
        stop()
        guard !hasEnded else { return }
        timeout = loop.assumeIsolated().scheduleTask(in: Self.patience) { [self] in
            connection.reset(id)
        }
    }

    /// Releases the call's memory and cancels its work.
    private func stop() {
        deadline?.cancel()
        stopTimeout()
        if let waiting { context.admission.cancel(waiting.id) }
        waiting = nil
        requests.releaseAll()
        received = ByteBuffer()
        // Of a partial message.
        reader = MessageReader(maxBytes: context.limits.acceptedRequestBytes)
        waiters = []
        let served = state
        state = .closed
        switch served {
        case .serving(let task): task?.cancel()
        case .paging(let pages, let monitored):
            endPaging(pages)
            _ = monitored.failed(RPCError.clientHasLeft)
        case .stream(let stream): stream.close()
        case .closed, .request: break
        }
        memory.close()
    }

    // MARK: Slow clients

    /// The bytes of a partial request, for tests.
    var partBytes: Int { reader.partBytes }

    var heldBytes: Int { max(memory.heldBytes, requests.bytes) }

    func refuse(_ cause: StreamRefusal) {
        switch cause {
        case .stalled: abandon(.stalled)
        case .memory: abandon(.memoryExhausted)
        }
    }

    /// Ends the call with an error, discarding responses that the client has not taken.
    private func abandon(_ error: RPCError) {
        let trailers = ResponseHeaders.ending(error, hasBegun: hasAnswered)
        if !isOver { finish() }
        connection.abandon(id, trailers)
    }

    // MARK: Timeouts

    private func setDeadline(_ time: TimeAmount) {
        deadline = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            abandon(.deadlinePassed)
        }
    }

    private func setTimeout(_ time: TimeAmount) {
        timeout = loop.assumeIsolated().scheduleTask(in: time) { [self] in
            refuse(.requestTooSlow)
        }
    }

    private func stopTimeout() {
        timeout?.cancel()
        timeout = nil
    }
}
