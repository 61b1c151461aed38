import LarderHTTP
import LarderModel
import Testing

@testable import LarderServer

@Suite("Web access, tokens and CORS")
struct WebAPITests {
    private let test = ServiceUnderTest()
    private let document = "/v1/projects/p/databases/(default)/documents/c/0001"
    private let emulator = "/emulator/v1/projects/p/databases/(default)/documents"

    private func answer(
        _ method: String, _ target: String, token: String? = nil, allowed: [String] = [],
        _ fields: [HTTPRequest.Field] = []
    ) async -> CollectedReply {
        let web = WebAPI(
            admin: AdminAPI(databases: test.databases, streams: StreamCount(limit: 1)),
            json: JSONAPI(calls: EncodedCalls(test.service)), token: BearerToken(token))
        let front = HTTPFront(
            WebAccess(host: "127.0.0.1", allowedHosts: allowed, hasTLS: false), [web])
        let reply = CollectedReply()
        await front.respond(to: HTTPRequest(method: method, target: target, fields: fields), reply)
        #expect(reply.isWhole)
        return reply
    }

    @Test(
        "requests of foreign web pages are 403, and read and delete nothing",
        arguments: [
            [("host", "evil.example:8080"), ("origin", "http://evil.example:8080")],
            [("host", "evil.example:8080")],
            [("host", "localhost:8080"), ("host", "localhost:8080")],
            [("host", "localhost:8080"), ("origin", "http://evil.example")],
            [("host", "localhost:8080"), ("sec-fetch-site", "cross-site")],
        ] as [[HTTPRequest.Field]])
    func webPages(_ fields: [HTTPRequest.Field]) async throws {
        try await test.fill("c", 0..<2)
        var fields = fields
        fields.append(("authorization", "Bearer t"))
        for (method, path) in [
            ("DELETE", emulator), ("DELETE", document), ("GET", document), ("GET", "/health"),
            ("GET", "/"), ("OPTIONS", "/"), ("OPTIONS", document),
        ] {
            let reply = await answer(method, path, token: "t", fields)
            #expect(reply.status == 403 && reply[field: "access-control-allow-origin"] == nil)
        }
        #expect(await answer("GET", document).status == 200)
    }

    @Test("everything but the sign of life requires the token, if one is configured")
    func token() async throws {
        try await test.fill("c", 0..<2)
        for fields in [[], [("authorization", "Bearer wrong")]] as [[HTTPRequest.Field]] {
            let refused = await answer("GET", document, token: "t", fields)
            #expect(refused.status == 401)
            #expect(refused.text.contains(#""status":"UNAUTHENTICATED""#))
            #expect(await answer("DELETE", emulator, token: "t", fields).status == 401)
            let health = await answer("GET", "/health", token: "t", fields)
            #expect(health.text == #"{"status":"ok"}"# + "\n")
        }
        let right = await answer("GET", document, token: "t", [("authorization", "Bearer t")])
        #expect(right.status == 200)
    }

    @Test("pages of allowed hosts may read responses; a preflight request needs no token")
    func allowedPages() async throws {
        try await test.fill("c", 0..<2)
        let fields: [HTTPRequest.Field] = [
            ("host", "localhost:8080"), ("origin", "https://app.example"),
            ("access-control-request-headers", "authorization,content-type"),
        ]
        let preflight = await answer(
            "OPTIONS", document, token: "t", allowed: ["app.example"], fields)
        #expect(preflight.status == 204)
        #expect(preflight[field: "access-control-allow-origin"] == "https://app.example")
        #expect(preflight[field: "access-control-allow-methods"]?.contains("PATCH") == true)
        #expect(
            preflight[field: "access-control-allow-headers"] == "authorization,content-type")
        let read = await answer("GET", document, allowed: ["app.example"], fields)
        #expect(read.status == 200)
        #expect(read[field: "access-control-allow-origin"] == "https://app.example")
        #expect(read[field: "vary"] == "origin")
        #expect(await answer("GET", document)[field: "access-control-allow-origin"] == nil)
    }

    @Test("the paths of WebChannel are free")
    func webChannel() async {
        let path = "/google.firestore.v1.Firestore/Listen/channel?VER=8"
        #expect(await answer("POST", path).status == 404)
    }
}
