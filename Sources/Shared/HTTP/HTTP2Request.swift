package import NIOCore
package import NIOHPACK
package import NIOHTTP2

/// A request on a stream of HTTP/2 that is no call of gRPC.
///
/// Confined to the connection's event loop.
package final class HTTP2Request: HTTP2StreamHandler {
    /// The time that a client has to end its side after a refusal.
    private static let patience = TimeAmount.seconds(5)

    private let id: HTTP2StreamID
    private let connection: HTTP2Connection
    private let loop: any EventLoop
    private let limits: HTTPLimits
    private let respond: HTTPRespond
    private var exchange: HTTPExchange?
    private var isHead = false
    /// True if the client has ended its side.
    private var hasEnded = false
    /// True if the connection counts the request as work in progress.
    private var isWorking = false
    /// Received bytes that no window update has returned yet.
    private var uncredited = 0
    /// True while the disk is slower than the client.
    private var isPaused = false

    package init(
        _ id: HTTP2StreamID, of connection: HTTP2Connection, on loop: any EventLoop,
        _ limits: HTTPLimits, _ respond: @escaping HTTPRespond
    ) {
        self.id = id
        self.connection = connection
        self.loop = loop
        self.limits = limits
        self.respond = respond
    }

    // MARK: Request

    package func begin(_ headers: HPACKHeaders, isWhole: Bool) {
        let request = HTTPRequest(headers)
        isHead = request.method == "HEAD"
        hasEnded = isWhole
        let exchange = HTTPExchange(
            request, limits, self, of: connection.memory, on: loop, respond)
        self.exchange = exchange
        if isWhole { finish() } else { exchange.receiveBody() }
    }

    package func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {
        uncredited += size
        hasEnded = isLast
        exchange?.receive(bytes)
        guard isLast else { return resume() }
        connection.released(id)
        finish()
    }

    private func finish() {
        if connection.mayProceed(id) { proceed() }
    }

    package func proceed() {
        guard let exchange, !isWorking else { return }
        isWorking = true
        connection.beganWork()
        exchange.finish()
    }

    private func endWork() {
        guard isWorking else { return }
        isWorking = false
        connection.endedWork()
    }

    /// Returns receive window once half of it is used.
    package func resume() {
        guard uncredited >= HTTP2Connection.windowBytes / 2, !isPaused, connection.mayCredit(id)
        else { return }
        connection.write(.windowUpdate(windowSizeIncrement: uncredited), on: id)
        uncredited = 0
        connection.flush()
    }

    package func close() {
        exchange?.close()
        exchange = nil
        endWork()
    }

    // MARK: Slow clients

    package var heldBytes: Int { exchange?.heldBytes ?? 0 }

    package func refuse(_ cause: StreamRefusal) {
        switch cause {
        case .stalled: abort(nil)
        case .memory: exchange?.relieve()
        }
    }
}

// MARK: - Response

extension HTTP2Request: HTTPExchange.Output {
    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        var headers: HPACKHeaders = [":status": "\(head.status)"]
        for (name, value) in head.fields { headers.add(name: name, value: value) }
        if let bodyBytes { headers.add(name: "content-length", value: "\(bodyBytes)") }
        connection.write(.headers(.init(headers: headers)), on: id)
        // Other requests of the connection do not wait for the end of a stream.
        if head.isEventStream { endWork() }
    }

    func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        write(bytes, promise, isLast: false)
    }

    func end(_ bytes: ByteBuffer) {
        write(bytes, nil, isLast: true)
        endWork()
    }

    private func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, isLast: Bool) {
        let bytes = isHead ? ByteBuffer() : bytes
        connection.write(
            .data(.init(data: .byteBuffer(bytes), endStream: isLast)), on: id, promise)
        connection.flush()
    }

    func pauseBody(_ pauses: Bool) {
        isPaused = pauses
        if !pauses, !hasEnded { resume() }
    }

    func abort(_ response: HTTPResponse?) {
        if let response {
            connection.abandon(id, [":status": "\(response.status)"])
            // A reset could overtake the response.
            guard !hasEnded else { return }
            loop.assumeIsolated().scheduleTask(in: Self.patience) { [connection, id] in
                connection.reset(id)
            }
        } else {
            connection.write(.rstStream(.cancel), on: id)
            connection.flush()
        }
    }
}

extension HTTPRequest {
    /// A request without its body, from the headers of HTTP/2.
    fileprivate init(_ headers: HPACKHeaders) {
        self.init(method: "", target: "")
        for (name, value, _) in headers {
            switch name {
            case ":method": method = value
            case ":path": target = value
            case ":authority": fields.append(("host", value))
            // Repeats the authority (RFC 9113, 8.3.1).
            case "host" where fields.contains(where: { $0 == ("host", value) }): continue
            case ":scheme": continue
            default: fields.append((name, value))
            }
        }
    }
}
