import LarderCore
import LarderSharedTestSupport
import Logging
import Testing

@testable import LarderHTTP

/// Responds with its name to the requests below a path.
private struct NamedService: HTTPService {
    let name: String
    let prefix: String
    var methods: String { "GET, \(name)" }
    var bodyBytes: Int? { name == "large" ? 1_000 : nil }

    func serves(_ request: HTTPRequest) -> Bool { request.path.hasPrefix(prefix) }

    func respond(to request: HTTPRequest, _ reply: any HTTPReply) async {
        var response = HTTPResponse(status: 200, text: name)
        response.head.fields.append(("etag", "t"))
        await reply.send(response)
    }
}

/// Keeps a small response.
private final class KeptReply: HTTPReply {
    let head = Box<HTTPResponseHead?>(nil)
    let body = Box<[UInt8]>([])

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) { self.head.withLock { $0 = head } }
    func write(_ bytes: [UInt8]) async throws(LarderError) { end(bytes) }
    func end(_ bytes: [UInt8]) { body.withLock { $0 += bytes } }
}

@Suite("HTTP front")
struct HTTPFrontTests {
    private let front = HTTPFront(
        WebAccess(
            host: "127.0.0.1", allowedHosts: ["app.example"], hasTLS: false, machine: "kiosk"),
        [NamedService(name: "small", prefix: "/a/"), NamedService(name: "large", prefix: "/")])

    private func answer(
        _ method: String, _ path: String, _ fields: [HTTPRequest.Field] = []
    ) async -> (head: HTTPResponseHead?, text: String) {
        let reply = KeptReply()
        await front.respond(to: HTTPRequest(method: method, target: path, fields: fields), reply)
        return (
            reply.head.withLock { $0 }, String(decoding: reply.body.withLock { $0 }, as: UTF8.self)
        )
    }

    @Test("a request is served by the first service that serves it, with that one's limit")
    func routes() async {
        #expect(await answer("GET", "/a/b").text == "small")
        #expect(await answer("GET", "/b").text == "large")
        let empty = HTTPFront(
            WebAccess(host: "127.0.0.1", allowedHosts: [], hasTLS: false), [])
        let reply = KeptReply()
        await empty.respond(to: HTTPRequest(method: "GET", target: "/b"), reply)
        #expect(reply.head.withLock { $0?.status } == 404)
        #expect(front.bodyBytes(of: HTTPRequest(method: "GET", target: "/a/b")) == nil)
        #expect(front.bodyBytes(of: HTTPRequest(method: "GET", target: "/b")) == 1_000)
    }

    @Test("each request has a line at level info, without its query")
    func log() async {
        let lines = Box<[String]>([])
        for level in [Logger.Level.info, .notice] {
            let logger = Logger(label: "test") { _ in
                ClosureLog(level) { event in
                    let values = ["status", "bytes"].map { "\($0)=\(event.metadata?[$0] ?? "")" }
                    lines.withLock {
                        $0.append("\(event.message) \(values.joined(separator: " "))")
                    }
                }
            }
            let front = HTTPFront(
                WebAccess(host: "127.0.0.1", allowedHosts: [], hasTLS: false),
                [NamedService(name: "small", prefix: "/a/")], log: RequestLog(logger))
            for target in ["/a/b?auth=secret", "/none"] {
                await front.respond(to: HTTPRequest(method: "GET", target: target), KeptReply())
            }
        }
        #expect(
            lines.withLock { $0 } == [
                "GET /a/b status=200 bytes=5", "GET /none status=404 bytes=40",
            ])
    }

    @Test("pages of allowed hosts may read responses, and ask what they may send")
    func pages() async {
        let origin: [HTTPRequest.Field] = [
            ("host", "localhost"), ("origin", "http://app.example"),
        ]
        let head = await answer("GET", "/a/b", origin).head
        #expect(head?[field: "access-control-allow-origin"] == "http://app.example")
        #expect(head?[field: "access-control-expose-headers"] == "etag")
        let asked = origin + [("access-control-request-headers", "if-match")]
        let preflight = await answer("OPTIONS", "/a/b", asked).head
        #expect(preflight?.status == 204)
        #expect(preflight?[field: "access-control-allow-methods"] == "GET, small")
        #expect(preflight?[field: "access-control-allow-headers"] == "if-match")
    }

    @Test("foreign pages are refused, also with a WebSocket")
    func foreign() async {
        let fields: [HTTPRequest.Field] = [
            ("host", "localhost"), ("origin", "http://evil.example"),
        ]
        #expect(await answer("GET", "/a/b", fields).head?.status == 403)
        let request = HTTPRequest(method: "GET", target: "/a/b", fields: fields)
        #expect(await front.webSocket(for: request) == nil)
    }
}
