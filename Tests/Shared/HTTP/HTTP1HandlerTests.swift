import LarderCore
import LarderTestSupport
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

@Suite("HTTP/1.1")
struct HTTP1HandlerTests {
    private let server = HTTPTestServer()
    private let limits = HTTPLimits.ofTests()

    private func connect() async throws -> NIOAsyncTestingChannel {
        let (limits, ledger, respond) = (limits, server.ledger, server.respond)
        let channel = try await NIOAsyncTestingChannel { channel in
            try HTTP1Handler.add(to: channel, limits, ledger, respond)
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        return channel
    }

    private func send(_ text: String, to channel: NIOAsyncTestingChannel) async throws {
        try await channel.writeInbound(ByteBuffer(string: text))
    }

    /// The text that has been sent since the last call.
    private func sent(_ channel: NIOAsyncTestingChannel) async throws -> String {
        await channel.testingEventLoop.run()
        var text = ""
        while let bytes = try await channel.readOutbound(as: ByteBuffer.self) {
            text += String(buffer: bytes)
        }
        return text
    }

    @Test("a request has its method, target, fields and body")
    func request() async throws {
        let channel = try await connect()
        try await send(
            "POST /a?b HTTP/1.1\r\nHost: h\r\nX-Y: z\r\nContent-Length: 5\r\n\r\nab", to: channel)
        try await send("cde", to: channel)
        let (request, _) = try #require(await server.next())
        #expect(request.method == "POST" && request.path == "/a" && request.query == "b")
        #expect(request[field: "x-y"] == "z" && request.web.hosts == ["h"])
        #expect(request.body == Array("abcde".utf8))
    }

    @Test("a connection serves one request after another, until its client wants it closed")
    func keepsAlive() async throws {
        let channel = try await connect()
        for number in 0..<3 {
            try await send("GET /\(number) HTTP/1.1\r\n\r\n", to: channel)
            let (request, reply) = try #require(await server.next())
            #expect(request.path == "/\(number)" && request.body.isEmpty)
            await reply.send(HTTPResponse(status: 200, contentType: "text/plain", text: "x"))
            let text = try await sent(channel)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\n\r\nx"))
            #expect(text.contains("content-length: 1\r\n") && channel.isActive)
        }
        try await send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        await reply.send(HTTPResponse(status: 204, body: []))
        #expect(try await sent(channel).contains("connection: close\r\n"))
        #expect(!channel.isActive)
    }

    @Test(
        "a malformed request is answered with 400 and not served, and its connection closed",
        arguments: [
            "GET / HTTP/1.1\r\nHost : h\r\n\r\n", "GET /\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
            "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        ])
    func malformed(request: String) async throws {
        let channel = try await connect()
        _ = try? await channel.writeInbound(ByteBuffer(string: request))
        let text = try await sent(channel)
        #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(text)")
        #expect(text.lowercased().contains("connection: close\r\n") && !channel.isActive)
    }

    @Test("a malformed request is answered after those before it")
    func malformedBehind() async throws {
        let channel = try await connect()
        try await send("GET /a HTTP/1.1\r\n\r\n", to: channel)
        _ = try? await channel.writeInbound(
            ByteBuffer(string: "GET / HTTP/1.1\r\nHost : h\r\n\r\n"))
        let (_, reply) = try #require(await server.next())
        await reply.send(HTTPResponse(status: 200, contentType: "text/plain", text: "x"))
        let text = try await sent(channel)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("HTTP/1.1 400 "))
        #expect(!channel.isActive)
    }

    @Test("pipelined requests are served in their order")
    func pipelines() async throws {
        let channel = try await connect()
        try await send("GET /0 HTTP/1.1\r\n\r\nGET /1 HTTP/1.1\r\n\r\n", to: channel)
        for number in 0..<2 {
            let (request, reply) = try #require(await server.next())
            #expect(request.path == "/\(number)")
            await reply.send(HTTPResponse(status: 200, text: "\(number)"))
            #expect(try await sent(channel).hasSuffix("\r\n\r\n\(number)"))
        }
    }

    @Test("a response of unknown length is chunked")
    func chunks() async throws {
        let channel = try await connect()
        try await send("GET / HTTP/1.1\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        reply.begin(HTTPResponseHead(status: 200), bodyBytes: nil)
        let parts = Task { try await reply.write([UInt8](repeating: 97, count: 70_000)) }
        var text = ""
        while !text.hasSuffix("\r\n1170\r\n" + String(repeating: "a", count: 0x1170) + "\r\n") {
            text += try await sent(channel)
        }
        try await parts.value
        reply.end([])
        #expect(text.contains("transfer-encoding: chunked\r\n"))
        #expect(text.contains("\r\n10000\r\n"))
        #expect(try await sent(channel) == "0\r\n\r\n")
    }

    @Test("a large response is sent at the pace of its client, which may not pause")
    func large() async throws {
        let channel = try await connect()
        try await send("GET / HTTP/1.1\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        let body = [UInt8](repeating: 97, count: 200_000)
        let sending = Task { await reply.send(HTTPResponse(status: 200, body: body)) }
        var text = ""
        while text.count < body.count { text += try await sent(channel) }
        await sending.value
        _ = try await sent(channel)
        #expect(text.contains("content-length: 200000\r\n") && channel.isActive)
    }

    @Test("a response to HEAD has no body")
    func head() async throws {
        let channel = try await connect()
        try await send("HEAD / HTTP/1.1\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        await reply.send(HTTPResponse(status: 200, text: "Ok"))
        let text = try await sent(channel)
        #expect(text.contains("content-length: 2\r\n") && text.hasSuffix("\r\n\r\n"))
    }

    @Test("a client that expects to be asked for its body is")
    func expects() async throws {
        let channel = try await connect()
        try await send(
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n", to: channel)
        #expect(try await sent(channel) == "HTTP/1.1 100 Continue\r\n\r\n")
        try await send("x", to: channel)
        let (request, reply) = try #require(await server.next())
        #expect(request.body == [120])
        await reply.send(HTTPResponse(status: 200, text: ""))
        #expect(try await sent(channel).hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test("a body above the limit is refused", arguments: [true, false])
    func tooLarge(isAnnounced: Bool) async throws {
        let channel = try await connect()
        let field = isAnnounced ? "Content-Length: 100001" : "Transfer-Encoding: chunked"
        try await send("POST / HTTP/1.1\r\n\(field)\r\n\r\n", to: channel)
        let body = String(repeating: "x", count: 100_001)
        try await send(isAnnounced ? body : "186A1\r\n\(body)\r\n0\r\n\r\n", to: channel)
        #expect(try await sent(channel).hasPrefix("HTTP/1.1 413 "))
        #expect(channel.isActive && server.ledger.heldBytes == 0)
    }

    @Test("a body is counted as it arrives, until the response ends")
    func counts() async throws {
        let channel = try await connect()
        try await send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n", to: channel)
        #expect(server.ledger.heldBytes == 0)
        try await send(String(repeating: "x", count: 50_000), to: channel)
        #expect(server.ledger.heldBytes == 50_000)
        try await send(String(repeating: "x", count: 50_000), to: channel)
        let (request, reply) = try #require(await server.next())
        #expect(request.body.count == 100_000 && server.ledger.heldBytes >= 100_000)
        await reply.send(HTTPResponse(status: 200, text: ""))
        _ = try await sent(channel)
        #expect(server.ledger.heldBytes == 0 && channel.isActive)
    }

    @Test("a large body that has arrived waits for others to be served")
    func waits() async throws {
        let channel = try await connect()
        #expect(limits.admission.admit(200_000) { _ in } == nil)
        let body = String(repeating: "x", count: 100_000)
        try await send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + body, to: channel)
        #expect(limits.admission.heldBytes == 200_000)
        limits.admission.release(200_000)
        await channel.testingEventLoop.run()
        let (request, reply) = try #require(await server.next())
        #expect(request.body.count == 100_000 && limits.admission.heldBytes == 400_000)
        await reply.send(HTTPResponse(status: 200, text: ""))
        _ = try await sent(channel)
        #expect(limits.admission.heldBytes == 0)
    }

    @Test("the connection that holds the most at the limit of memory is refused and closed")
    func relieves() async throws {
        let channel = try await connect()
        try await send("POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nx", to: channel)
        try await send(String(repeating: "x", count: 90_000), to: channel)
        let other = server.ledger.open { $0() }
        other.change(by: 80_000)
        let others = (0..<11).map { _ in server.ledger.open { $0() } }
        for other in others { other.change(by: 80_000) }
        let text = try await sent(channel)
        #expect(text.hasPrefix("HTTP/1.1 429 ") && text.contains("connection: close\r\n"))
        #expect(!channel.isActive)
        for other in others + [other] { other.close() }
        #expect(server.ledger.heldBytes == 0)
    }

    @Test(
        "a connection without a request, or with a partial one, is closed",
        arguments: [
            ("", 20), ("GET / HTTP/1.1\r\n", 20),
            ("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nx", 60),
        ])
    func silent(text: String, seconds: Int64) async throws {
        let channel = try await connect()
        if !text.isEmpty { try await send(text, to: channel) }
        await channel.testingEventLoop.advanceTime(by: .seconds(seconds - 1))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive && server.ledger.heldBytes == 0)
    }

    @Test("a request whose client leaves is cancelled")
    func leaves() async throws {
        let channel = try await connect()
        try await send("GET / HTTP/1.1\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        try await channel.close()
        await server.ending()
        let written = Task { try await reply.write([1]) }
        await #expect(throws: LarderError.self) { try await written.value }
    }

    @Test("bytes that are no HTTP close the connection")
    func noise() async throws {
        let channel = try await connect()
        _ = try? await send("\u{0}\u{1}\r\n\r\n", to: channel)
        await channel.testingEventLoop.run()
        #expect(!channel.isActive)
    }

    @Test("a connection is closed after its last response when the server stops")
    func stops() async throws {
        let channel = try await connect()
        try await send("GET / HTTP/1.1\r\n\r\n", to: channel)
        let (_, reply) = try #require(await server.next())
        try await channel.testingEventLoop.executeInContext {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        #expect(channel.isActive)
        await reply.send(HTTPResponse(status: 200, text: "x"))
        #expect(try await sent(channel).hasSuffix("x"))
        #expect(!channel.isActive)
    }
}
