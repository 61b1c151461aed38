import LarderCore
package import NIOCore

/// The limits of requests over HTTP that are not calls of gRPC.
package struct HTTPLimits: Sendable {
    /// The size of the largest body.
    package var bodyBytes: Int
    /// The size of the largest body of a request that has another one.
    package var bodyBytesOfRequest: @Sendable (HTTPRequest) -> Int? = { _ in nil }
    /// The files for large bodies of a request; nil to keep it in memory.
    package var bodyFilesOfRequest: @Sendable (HTTPRequest) -> BodyFiles? = { _ in nil }
    /// The time to receive the head of a request, and between two requests of a connection.
    package var headTime = TimeAmount.seconds(20)
    /// The time to receive a body, or a MiB of one that is kept in a file.
    package var bodyTime: TimeAmount
    /// The time after which a client that takes no part of a response is disconnected.
    package var writeTime: TimeAmount
    /// Admits large requests.
    package let admission: RequestAdmission

    package init(
        bodyBytes: Int, bodyTime: Duration, writeTime: Duration, admission: RequestAdmission
    ) {
        self.admission = admission
        self.bodyBytes = bodyBytes
        self.bodyTime = TimeAmount(bodyTime)
        self.writeTime = TimeAmount(writeTime)
    }
}

/// One request and its response, on any version of HTTP: collects the body, runs the task that
/// responds, and writes what it replies.
///
/// ```
/// receiving (──► storing) ── finish ──► (waiting ──►) responding ── end ──► over
///     └─────────────── close ──────────────────────────────┴──────────────►
/// ```
///
/// Confined to the connection's event loop.
final class HTTPExchange {
    /// The connection's side of an exchange.
    protocol Output: AnyObject {
        func begin(_ head: HTTPResponseHead, bodyBytes: Int?)
        func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?)
        func end(_ bytes: ByteBuffer)
        /// Stops the client that sends a body, or lets it go on.
        func pauseBody(_ pauses: Bool)
        /// Ends the exchange at once; with a response, if nothing has been sent.
        func abort(_ response: HTTPResponse?)
    }

    private enum State {
        case receiving(body: [UInt8])
        /// Receives a large body into a file.
        case storing(BodyWriter)
        /// Waits for admission.
        case waiting(body: [UInt8], id: UInt64)
        case responding(Task<Void, Never>?)
        case over
    }

    /// The size of a part that is sent at a time, within ``HTTPLimits/writeTime``.
    static let partBytes = 64 << 10
    /// The memory of a body that is kept in a file, at most: what waits for the disk.
    private static let storingBytes = 1 << 20

    private let request: HTTPRequest
    private let limits: HTTPLimits
    private let bodyBytes: Int
    /// The size up to which a body is kept in memory.
    private var memoryBytes: Int
    private let loop: any EventLoop
    private let respond: HTTPRespond
    private let origin: CallOrigin
    private var received: RequestMemory
    private weak var output: (any Output)?
    private var state = State.receiving(body: [])
    /// The response to a request whose body is not accepted; the rest of the body is discarded.
    private var refusal: HTTPResponse?
    /// True once the whole body is received.
    private var hasFinished = false
    /// The bytes of the body that are in its file.
    private var storedBytes = 0
    private var hasBegun = false
    /// The time limit of the body, or of a part of the response.
    private var timeout: Scheduled<Void>?

    /// - Parameters:
    ///   - request: the request without its body.
    ///   - connection: the account of the connection's memory.
    init(
        _ request: HTTPRequest, _ limits: HTTPLimits, _ output: any Output,
        of connection: MemoryAccount, on loop: any EventLoop, _ respond: @escaping HTTPRespond
    ) {
        self.request = request
        self.limits = limits
        bodyBytes = limits.bodyBytesOfRequest(request) ?? limits.bodyBytes
        memoryBytes = min(BodyFiles.smallBytes, bodyBytes)
        self.output = output
        self.loop = loop
        self.respond = respond
        origin = CallOrigin(connection, connection.open())
        received = RequestMemory(origin.memory, limits.admission)
    }

    // MARK: Request

    /// The memory that the exchange holds.
    var heldBytes: Int { max(origin.memory.heldBytes, received.bytes) }

    /// True if the response has ended or its client has left.
    var isOver: Bool {
        if case .over = state { return true }
        return false
    }

    /// Begins to receive a body.
    func receiveBody() {
        setTimeout(limits.bodyTime)
    }

    /// Adds a part of the body; after a refusal parts are discarded.
    func receive(_ bytes: ByteBuffer) {
        guard refusal == nil else { return }
        switch state {
        case .receiving(var body):
            // The array would be copied while the state refers to it.
            state = .over
            body.append(contentsOf: bytes.readableBytesView)
            state = .receiving(body: body)
            received.receive(bytes.readableBytes)
            if body.count > memoryBytes { outgrow(body) }
        case .storing(let writer):
            writer.receive(bytes)
        case .waiting, .responding, .over: break
        }
    }

    /// Goes on with a body in a file, or in memory if the request has no files; refuses a body that
    /// is too large.
    private func outgrow(_ body: [UInt8]) {
        guard let files = limits.bodyFilesOfRequest(request) else {
            memoryBytes = bodyBytes
            if body.count > bodyBytes { refuse(.tooLarge(bodyBytes)) }
            return
        }
        guard let file = files.begin() else {
            return refuse(
                .failure(
                    503, "\(files.maxCount) large requests are being received: try again later"))
        }
        received.releaseAll()
        received.receive(Self.storingBytes)
        let writer = BodyWriter(file, of: files, on: loop) { [weak self] in
            self?.output?.pauseBody($0)
        } wrote: { [weak self] in
            self?.stored($0, of: files.maxBytes)
        }
        state = .storing(writer)
        writer.receive(ByteBuffer(bytes: body))
    }

    /// Notes that a part of the body is in its file.
    private func stored(_ count: Int, of maxBytes: Int) {
        guard case .storing = state else { return }
        storedBytes += count
        if storedBytes > maxBytes { return refuse(.tooLarge(maxBytes)) }
        guard timeout != nil, storedBytes >> 20 != (storedBytes - count) >> 20 else { return }
        stopTimeout()
        setTimeout(limits.bodyTime)
    }

    private func refuse(_ response: HTTPResponse) {
        if case .storing(let writer) = state { writer.close() }
        received.releaseAll()
        (refusal, state) = (response, .receiving(body: []))
        if hasFinished { finish() }
    }

    /// Serves the request after the end of its body, once it is admitted.
    func finish() {
        hasFinished = true
        stopTimeout()
        if let refusal { return end(with: refusal) }
        switch state {
        case .receiving(let body): admit(body)
        case .storing(let writer):
            writer.finish { [weak self] result in
                switch result {
                case .success(let file): self?.serve(file: file)
                case .failure(let error): self?.refuse(.failure(503, error.message))
                }
            }
        case .waiting, .responding, .over: break
        }
    }

    private func end(with response: HTTPResponse) {
        guard !isOver else { return }
        state = .responding(nil)
        begin(response.head, response.body.count)
        end(ByteBuffer(bytes: response.body))
    }

    private func admit(_ body: [UInt8]) {
        guard let bytes = RequestMemory.admissionBytes(body.count) else { return serve(body) }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let id = limits.admission.admit(bytes) { [loop] id in
            loop.execute { bound.value.admitted(id, bytes) }
        }
        guard let id else { return serve(body) }
        state = .waiting(body: body, id: id)
        setTimeout(limits.bodyTime)
    }

    private func admitted(_ id: UInt64, _ bytes: Int) {
        guard case .waiting(let body, id) = state else { return limits.admission.release(bytes) }
        stopTimeout()
        serve(body)
    }

    private func serve(_ body: [UInt8]) {
        received.complete(body.count)
        var request = request
        request.body = body
        serve(request)
    }

    private func serve(file: BodyFile) {
        guard !isOver else { return }
        var request = request
        request.bodyFile = file
        serve(request)
    }

    private func serve(_ request: HTTPRequest) {
        let reply = LoopReply(NIOLoopBound(self, eventLoop: loop), loop, origin.memory)
        state = .responding(
            Task { [respond, request, origin] in
                await CallOrigin.$current.withValue(origin) { await respond(request, reply) }
            })
    }

    /// Called when the client has left.
    func close() {
        switch state {
        case .responding(let task): task?.cancel()
        case .waiting(_, let id): limits.admission.cancel(id)
        case .storing(let writer): writer.close()
        case .receiving, .over: break
        }
        stop()
    }

    /// Ends the exchange, because the server's memory is in use.
    func relieve() {
        guard !isOver else { return }
        let response = HTTPResponse(
            status: 429, contentType: "text/plain", text: "The server's memory is in use.\n")
        close()
        output?.abort(hasBegun ? nil : response)
    }

    private func stop() {
        if hasBegun, !isOver { origin.memory.changeAnswers(by: -1) }
        state = .over
        stopTimeout()
        received.releaseAll()
        origin.memory.close()
    }

    // MARK: Response

    fileprivate func begin(_ head: HTTPResponseHead, _ bodyBytes: Int?) {
        guard !isOver else { return }
        hasBegun = true
        origin.memory.changeAnswers(by: 1)
        output?.begin(head, bodyBytes: bodyBytes)
    }

    fileprivate func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>) {
        guard !isOver, let output else { return promise.fail(ChannelError.ioOnClosedChannel) }
        setTimeout(limits.writeTime)
        origin.memory.setStalled(true)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            stopTimeout()
            origin.memory.setStalled(false)
        }
        output.write(bytes, promise)
    }

    fileprivate func end(_ bytes: ByteBuffer) {
        guard !isOver else { return }
        stop()
        output?.end(bytes)
    }

    // MARK: Time limits

    private func setTimeout(_ time: TimeAmount) {
        timeout = loop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            self?.output?.abort(nil)
        }
    }

    private func stopTimeout() {
        timeout?.cancel()
        timeout = nil
    }
}

/// Writes the response of an exchange from any thread.
private struct LoopReply: HTTPReply {
    private let exchange: NIOLoopBound<HTTPExchange>
    private let loop: any EventLoop
    private let memory: MemoryAccount

    init(
        _ exchange: NIOLoopBound<HTTPExchange>, _ loop: any EventLoop, _ memory: MemoryAccount
    ) {
        self.exchange = exchange
        self.loop = loop
        self.memory = memory
    }

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        run { $0.begin(head, bodyBytes) }
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        memory.change(by: bytes.count)
        defer { memory.change(by: -bytes.count) }
        try await writeParts(of: bytes)
    }

    func write(_ bytes: SharedBytes) async throws(LarderError) {
        let partBytes = min(bytes.count, HTTPExchange.partBytes)
        memory.change(by: partBytes)
        memory.changeKept(by: bytes.count)
        defer {
            memory.change(by: -partBytes)
            memory.changeKept(by: -bytes.count)
        }
        try await writeParts(of: bytes.bytes)
    }

    /// Writes bytes part by part: only the part that is being sent is copied.
    private func writeParts(of bytes: [UInt8]) async throws(LarderError) {
        var start = 0
        while start < bytes.count {
            let end = min(start + HTTPExchange.partBytes, bytes.count)
            let part = ByteBuffer(bytes: bytes[start..<end])
            start = end
            let sent = loop.makePromise(of: Void.self)
            run { $0.write(part, sent) }
            do {
                try await sent.futureResult.get()
            } catch {
                throw .clientHasLeft
            }
        }
    }

    func end(_ bytes: [UInt8]) {
        run { $0.end(ByteBuffer(bytes: bytes)) }
    }

    private func run(_ body: @escaping @Sendable (HTTPExchange) -> Void) {
        loop.executeOrRun { [exchange] in body(exchange.value) }
    }
}

extension HTTPResponse {
    /// The response to a request whose body is too large.
    fileprivate static func tooLarge(_ limit: Int) -> HTTPResponse {
        HTTPResponse(
            status: 413, contentType: "text/plain",
            text: "The body of a request is limited to \(limit) bytes.\n")
    }
}
