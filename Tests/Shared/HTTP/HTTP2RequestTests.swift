import Dispatch
import LarderCore
import LarderSharedTestSupport
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

@Suite("HTTP/2: requests besides gRPC")
struct HTTP2RequestTests {
    private let server = HTTPTestServer(memory: 100_000_000)
    private let limits = HTTPLimits.ofTests(bodyBytes: 2_000_000)

    private func connect(
        bodies files: BodyFiles? = nil
    ) async throws -> NIOAsyncTestingChannel {
        var limits = limits
        limits.bodyFilesOfRequest = { _ in files }
        let (ledger, respond) = (server.ledger, server.respond)
        let ofConnection = HTTP2Connection.Limits(
            streams: 10, resets: 10, keepaliveInterval: .seconds(600),
            keepaliveTimeout: .seconds(600), pingInterval: .seconds(1))
        let channel = try await NIOAsyncTestingChannel { [limits] channel in
            try channel.pipeline.syncOperations.addHandler(
                HTTP2Connection(ofConnection, on: channel.eventLoop, ledger) {
                    HTTP2Request($1, of: $2, on: $3, limits, respond)
                })
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        return channel
    }

    private func say(_ payload: HTTP2Frame.FramePayload, to channel: NIOAsyncTestingChannel)
        async throws
    {
        try await channel.writeInbound(HTTP2Frame(streamID: 1, payload: payload))
    }

    private func open(
        _ method: String, _ fields: HPACKHeaders = [:], isWhole: Bool,
        _ channel: NIOAsyncTestingChannel
    ) async throws {
        var headers: HPACKHeaders = [
            ":method": method, ":path": "/a?b", ":scheme": "https", ":authority": "h",
        ]
        for (name, value, _) in fields { headers.add(name: name, value: value) }
        try await say(.headers(.init(headers: headers, endStream: isWhole)), to: channel)
    }

    private func body(_ count: Int, isLast: Bool) -> HTTP2Frame.FramePayload {
        .data(
            .init(
                data: .byteBuffer(ByteBuffer(repeating: 120, count: count)), endStream: isLast))
    }

    @Test("trailers end the body of a request")
    func trailers() async throws {
        let channel = try await connect()
        try await open("POST", isWhole: false, channel)
        try await say(body(3, isLast: false), to: channel)
        try await say(.headers(.init(headers: ["x-sum": "1"], endStream: true)), to: channel)
        let (request, reply) = try #require(await server.next())
        #expect(request.body.count == 3 && request[field: "x-sum"] == nil)
        await reply.send(HTTPResponse(status: 200, contentType: "text/plain", text: "x"))
        #expect(try await sent(channel).last == "1.")
    }

    /// The frames of the stream that have been sent since the last call, in words.
    private func sent(_ channel: NIOAsyncTestingChannel) async throws -> [String] {
        // As the handler of HTTP/2 does at the end of a read, which is not in the pipeline here.
        channel.flush()
        await channel.testingEventLoop.run()
        var words: [String] = []
        while let frame = try await channel.readOutbound(as: HTTP2Frame.self) {
            guard frame.streamID == 1 else { continue }
            switch frame.payload {
            case .headers(let headers):
                words.append(headers.headers.map { "\($0.0)=\($0.1)" }.joined(separator: " "))
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { continue }
                words.append("\(bytes.readableBytes)" + (data.endStream ? "." : ""))
            case .windowUpdate(let size): words.append("credit \(size)")
            case .rstStream(let code): words.append("reset \(code.networkCode)")
            default: words.append("another")
            }
        }
        return words
    }

    @Test("a request without a body is served")
    func whole() async throws {
        let channel = try await connect()
        try await open("GET", ["host": "h"], isWhole: true, channel)
        let (request, reply) = try #require(await server.next())
        #expect(request.method == "GET" && request.path == "/a" && request.query == "b")
        #expect(request.web.hosts == ["h"] && request[field: ":scheme"] == nil)
        await reply.send(HTTPResponse(status: 200, contentType: "text/plain", text: "Ok"))
        #expect(
            try await sent(channel) == [
                ":status=200 content-type=text/plain content-length=2", "2.",
            ])
    }

    @Test("another host than the authority is kept, so that it is refused")
    func hosts() async throws {
        let channel = try await connect()
        try await open("GET", ["host": "evil"], isWhole: true, channel)
        #expect(try #require(await server.next()).request.web.hosts == ["h", "evil"])
    }

    @Test("a body is received with window for more of it")
    func receives() async throws {
        let channel = try await connect()
        try await open("POST", isWhole: false, channel)
        try await say(body(700_000, isLast: false), to: channel)
        #expect(try await sent(channel) == ["credit 700000"])
        try await say(body(300_000, isLast: true), to: channel)
        let (request, reply) = try #require(await server.next())
        #expect(request.body.count == 1_000_000)
        reply.begin(HTTPResponseHead(status: 200), bodyBytes: nil)
        async let written: Void = reply.write([1, 2, 3])
        // The write begins in a task of its own.
        var words: [String] = []
        while words.isEmpty {
            words = try await sent(channel)
            await Task.yield()
        }
        #expect(words.first == ":status=200")
        await channel.testingEventLoop.run()
        try await written
        reply.end([4])
        #expect(try await sent(channel).last == "1.")
        #expect(server.ledger.heldBytes == 0)
    }

    @Test("a body above the limit is refused")
    func large() async throws {
        let channel = try await connect()
        try await open("POST", isWhole: false, channel)
        try await say(body(1_500_000, isLast: false), to: channel)
        try await say(body(1_500_000, isLast: true), to: channel)
        #expect(try await sent(channel).contains { $0.hasPrefix(":status=413 ") })
    }

    @Test("a response to HEAD has no body")
    func head() async throws {
        let channel = try await connect()
        try await open("HEAD", isWhole: true, channel)
        let (_, reply) = try #require(await server.next())
        await reply.send(HTTPResponse(status: 200, text: "Ok"))
        #expect(try await sent(channel).last == "0.")
    }

    @Test("a body that is late resets its stream")
    func late() async throws {
        let channel = try await connect()
        try await open("POST", isWhole: false, channel)
        await channel.testingEventLoop.advanceTime(by: .seconds(60))
        #expect(try await sent(channel) == ["reset 8"])
    }

    @Test("a request whose client leaves is cancelled")
    func leaves() async throws {
        let channel = try await connect()
        try await open("GET", isWhole: true, channel)
        _ = try #require(await server.next())
        try await channel.testingEventLoop.executeInContext {
            channel.pipeline.fireUserInboundEventTriggered(
                StreamClosedEvent(streamID: 1, reason: .cancel))
        }
        await server.ending()
    }

    @Test("a large body is received into a file, at the pace of the disk")
    func file() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let disk = DispatchSemaphore(value: 0)
        let files = BodyFiles(maxBytes: 4_000_000, maxCount: 1) { () throws(LarderError) in
            disk.wait()
            return path
        }
        let channel = try await connect(bodies: files)
        try await open("PUT", isWhole: false, channel)
        try await say(body(600_000, isLast: false), to: channel)
        #expect(try await sent(channel) == ["credit 600000"])
        // The disk is behind: no window is returned.
        try await say(body(600_000, isLast: false), to: channel)
        #expect(try await sent(channel) == [])
        #expect(server.ledger.heldBytes < 1_200_000)
        disk.signal()
        var words: [String] = []
        while words.isEmpty { words = try await sent(channel) }
        #expect(words == ["credit 600000"])
        try await say(body(10, isLast: true), to: channel)
        // The file is written on another thread.
        while !server.hasRequest { await channel.testingEventLoop.run() }
        let (request, _) = try #require(await server.next())
        #expect(request.body.isEmpty && request.bodyFile?.count == 1_200_010)
    }

    @Test("a body that is too large for its file is refused, and its place is free")
    func largeFile() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let files = BodyFiles(maxBytes: 1_500_000, maxCount: 1) { () throws(LarderError) in path }
        let channel = try await connect(bodies: files)
        try await open("PUT", isWhole: false, channel)
        for _ in 0..<3 { try await say(body(600_000, isLast: false), to: channel) }
        while files.openCount > 0 { await channel.testingEventLoop.run() }
        try await say(body(10, isLast: true), to: channel)
        var words: [String] = []
        while !words.contains(where: { $0.hasPrefix(":status=") }) {
            words += try await sent(channel)
        }
        #expect(words.contains { $0.hasPrefix(":status=413 ") }, "\(words)")
        #expect(server.ledger.heldBytes == 0)
    }

    @Test("a body that cannot be stored is refused with the reason")
    func unstored() async throws {
        let directory = try TemporaryDirectory()
        let none = directory.file("none")
        let files = BodyFiles(maxBytes: 4_000_000, maxCount: 1) { () throws(LarderError) in none }
        let channel = try await connect(bodies: files)
        try await open("PUT", isWhole: false, channel)
        for _ in 0..<2 { try await say(body(600_000, isLast: false), to: channel) }
        try await say(body(10, isLast: true), to: channel)
        var words: [String] = []
        while !words.contains(where: { $0.hasPrefix(":status=") }) {
            words += try await sent(channel)
        }
        #expect(words.contains { $0.hasPrefix(":status=503 ") }, "\(words)")
        #expect(files.openCount == 0 && server.ledger.heldBytes == 0)
    }
}
