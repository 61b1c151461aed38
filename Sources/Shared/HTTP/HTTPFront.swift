package import LarderCore

/// A part of what a server offers over HTTP: requests, and WebSockets.
package protocol HTTPService: Sendable {
    /// The methods that web pages may use, as CORS lists them.
    var methods: String { get }

    /// The size of the largest body of a request; nil for that of the server.
    var bodyBytes: Int? { get }

    /// The files for large bodies of a request that the service serves; nil to keep it in memory,
    /// within ``bodyBytes``.
    func bodyFiles(for request: HTTPRequest) -> BodyFiles?

    /// Prepares the service, and begins what it does by itself.
    ///
    /// Called once, when the server has its data directory and before it serves.
    ///
    /// - Parameter isCancelled: is set when the server stops meanwhile.
    /// - Throws: what ends the server.
    func start(isCancelled: AtomicFlag) async throws(LarderError)

    /// True if the service responds to a request, of which only the head is known.
    func serves(_ request: HTTPRequest) -> Bool

    /// Responds to a request that the service serves; the task is cancelled if its client leaves.
    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async

    /// Accepts the WebSocket that a request asks for; nil if the service refuses it, and explains
    /// why in its response to the request.
    func webSocket(for request: HTTPRequest) async -> WebSocketOpening?

    /// Ends event streams and WebSockets, and stores what is to be stored; further requests are
    /// refused. Returns when everything has ended.
    ///
    /// - Throws: the first error of something that could not be stored.
    func close() async throws(LarderError)
}

extension HTTPService {
    package var bodyBytes: Int? { nil }

    package func bodyFiles(for request: HTTPRequest) -> BodyFiles? { nil }

    package func start(isCancelled: AtomicFlag) async throws(LarderError) {}

    package func webSocket(for request: HTTPRequest) async -> WebSocketOpening? { nil }

    package func close() async throws(LarderError) {}
}

/// The services of a port, each at its own paths.
///
/// A request that may come from a foreign web page is refused with 403, see ``WebAccess``; pages of
/// allowed hosts may read responses (CORS). A request that no service serves is answered with 404.
package struct HTTPFront: Sendable {
    private let access: WebAccess
    private let services: [any HTTPService]
    private let monitor: AccessMonitor?
    private let log: RequestLog?

    /// - Parameters:
    ///   - services: each request is served by the first one that serves it.
    ///   - monitor: is told of requests that are refused by `access`.
    ///   - log: is told of each request.
    package init(
        _ access: WebAccess, _ services: [any HTTPService], monitor: AccessMonitor? = nil,
        log: RequestLog? = nil
    ) {
        self.access = access
        self.services = services
        self.monitor = monitor
        self.log = log
    }

    private func service(of request: HTTPRequest) -> (any HTTPService)? {
        services.first { $0.serves(request) }
    }

    /// The size of the largest body of a request; nil for that of the server.
    package func bodyBytes(of request: HTTPRequest) -> Int? { service(of: request)?.bodyBytes }

    /// The files for large bodies of a request; nil to keep it in memory.
    package func bodyFiles(for request: HTTPRequest) -> BodyFiles? {
        access.refusal(of: request.web) == nil ? service(of: request)?.bodyFiles(for: request) : nil
    }

    /// Responds to a request.
    package func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        guard let log, log.isOn else { return await answer(request, reply) }
        let reply = LoggedReply(reply, to: request, log)
        await answer(request, reply)
        reply.finish()
    }

    private func answer(_ request: HTTPRequest, _ reply: any HTTPReply) async {
        if let refusal = access.refusal(of: request.web) {
            // A refused WebSocket is answered here, too.
            monitor?.note(
                refusal.kind, refusal.message,
                over: request[field: "upgrade"] == nil ? .http : .websocket,
                address: CallOrigin.current?.connection.address)
            return await reply.send(.failure(403, refusal.message))
        }
        guard let service = service(of: request) else {
            return await reply.send(
                .failure(404, "no such endpoint: \(request.method) \(request.path)"))
        }
        guard let origin = request[field: "origin"] else {
            return await service.respond(to: request, reply)
        }
        let reply = ReplyToPage(reply: reply, origin: origin)
        guard request.method == "OPTIONS" else {
            return await service.respond(to: request, reply)
        }
        // A preflight request has no credentials.
        await reply.send(Self.preflight(request, service.methods))
    }

    /// Accepts the WebSocket that a request asks for; nil if it is refused, which the response to
    /// the request explains.
    package func webSocket(for request: HTTPRequest) async -> WebSocketOpening? {
        guard access.refusal(of: request.web) == nil else { return nil }
        return await service(of: request)?.webSocket(for: request)
    }

    /// The response to a browser that asks whether a page may send a request.
    private static func preflight(_ request: HTTPRequest, _ methods: String) -> HTTPResponse {
        var response = HTTPResponse(status: 204, body: [])
        response.head.fields = [
            ("access-control-allow-methods", methods), ("access-control-max-age", "3600"),
        ]
        if let names = request[field: "access-control-request-headers"] {
            response.head.fields.append(("access-control-allow-headers", names))
        }
        return response
    }
}

/// A reply that a web page of an admitted origin may read.
private struct ReplyToPage: HTTPReply {
    let reply: any HTTPReply
    let origin: String

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        var head = head
        head.fields.append(("access-control-allow-origin", origin))
        if head[field: "etag"] != nil {
            head.fields.append(("access-control-expose-headers", "etag"))
        }
        head.fields.append(("vary", "origin"))
        reply.begin(head, bodyBytes: bodyBytes)
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        try await reply.write(bytes)
    }

    func write(_ bytes: SharedBytes) async throws(LarderError) {
        try await reply.write(bytes)
    }

    func end(_ bytes: [UInt8]) {
        reply.end(bytes)
    }
}

extension HTTPResponse {
    /// An error as JSON: `{"error": …}`.
    package static func failure(_ status: Int, _ message: String) -> HTTPResponse {
        var body: [UInt8] = []
        JSONWriter.append(.object([JSONMember("error", .string(message))]), to: &body)
        return HTTPResponse(status: status, body: body + [UInt8(ascii: "\n")])
    }
}
