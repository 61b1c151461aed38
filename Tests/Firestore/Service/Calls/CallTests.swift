import GRPCCore
import LarderHTTP
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: calls")
struct CallTests {
    /// Headers that are refused, and with what.
    struct Refused: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var method = "Listen"
        var headers: HPACKHeaders = [:]
        var ending: HPACKHeaders
    }

    private static let refused = [
        Refused(
            testDescription: "another content", headers: ["content-type": "application/json"],
            ending: [":status": "415"]),
        Refused(
            testDescription: "GET", headers: [":method": "GET"], ending: ["grpc-status": "3"]),
        Refused(
            testDescription: "another scheme", headers: [":scheme": "ftp"],
            ending: ["grpc-status": "3"]),
        Refused(
            testDescription: "an encoding", headers: ["grpc-encoding": "gzip"],
            ending: ["grpc-status": "12", "grpc-accept-encoding": "identity"]),
        Refused(
            testDescription: "another call", method: "Dance", ending: ["grpc-status": "12"]),
        Refused(testDescription: "no token", ending: ["grpc-status": "16"]),
        Refused(
            testDescription: "another token", headers: ["authorization": "Bearer x"],
            ending: ["grpc-status": "16"]),
    ]

    @Test("A call that a foreign web page makes is refused; other clients may name any host")
    func webPages() async throws {
        let client = try await TestConnection()
        let cases: [(HPACKHeaders, String?)] = [
            ([":authority": "evil.example", "origin": "http://evil.example"], "7"),
            ([":authority": "localhost", "origin": "http://evil.example"], "7"),
            ([":authority": "localhost", "sec-fetch-site": "cross-site"], "7"),
            ([":authority": "localhost", "origin": "http://localhost"], nil),
            ([":authority": "hub.example"], nil),
        ]
        for (number, (headers, status)) in cases.enumerated() {
            let id = HTTP2StreamID(2 * number + 1)
            try await client.open("Commit", on: id, headers)
            #expect(try await client.ending(id)?["grpc-status"].first == status)
        }
    }

    @Test("Unknown methods and unauthorized calls are refused", arguments: refused)
    func refuses(refused: Refused) async throws {
        let isAdmitted = refused.ending["grpc-status"] != ["16"]
        let client = try await TestConnection(
            token: BearerToken(isAdmitted ? nil : "secret"))
        try await client.open(refused.method, refused.headers)
        let ending = try #require(try await client.ending())
        for (name, value, _) in refused.ending { #expect(ending[name] == [value]) }
        // What still comes is dropped.
        try await client.send([1, 2, 3], isLast: true)
        #expect(try await client.sent().isEmpty && client.budget.heldBytes == 0)
    }

    @Test("Calls with the token, and with identity encoding, are served")
    func admitted() async throws {
        let client = try await TestConnection(token: BearerToken("secret"))
        try await client.open(
            "Listen", ["authorization": "Bearer secret", "grpc-encoding": "identity", "x": "y"])
        let call = try await client.call()
        #expect(call.context.descriptor.method == "Listen")
        var requests = call.stream.inbound.makeAsyncIterator()
        guard case .metadata(let metadata) = try await requests.next() else {
            Issue.record("no headers")
            return
        }
        #expect(Array(metadata[stringValues: "x"]) == ["y"])
    }

    @Test("Requests and answers pass both ways, and a status ends the call")
    func passes() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let call = try await client.call()
        var requests = call.stream.inbound.makeAsyncIterator()
        try await client.send(TestConnection.framed([1]) + TestConnection.framed([2, 3]).prefix(6))
        #expect(try await TestConnection.messages(1, &requests) == [[1]])
        try await client.send([3] + TestConnection.framed([]), isLast: true)
        #expect(try await TestConnection.messages(.max, &requests) == [[2, 3], []])
        try await call.stream.outbound.write(.metadata(["a": "b"]))
        try await call.stream.outbound.write(contentsOf: [.message([7]), .message([])])
        guard case .headers(let headers) = try await client.next() else {
            Issue.record("no headers")
            return
        }
        #expect(headers.headers["a"] == ["b"] && !headers.endStream)
        try await call.stream.outbound.write(.status(.init(code: .ok, message: ""), ["c": "d"]))
        let (messages, ending) = try await client.answer()
        #expect(messages == [[7], []] && ending == ["grpc-status": "0", "c": "d"])
        await #expect(throws: RPCError.self) {
            try await call.stream.outbound.write(.message([8]))
        }
    }

    @Test(
        "What is no message ends the call",
        arguments: [
            ([1, 0, 0, 0, 0], "13"), ([0, 0, 0], "13"), ([0, 0, 0, 0, 2, 1], "13"),
            ([0, 0xff, 0xff, 0xff, 0xff], "3"),
        ])
    func malformed(bytes: [UInt8], status: String) async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let call = try await client.call()
        try await client.send(bytes, isLast: true)
        #expect(try await client.ending()?["grpc-status"] == [status])
        await #expect(throws: RPCError.self) { try await TestConnection.messages(call) }
        #expect(client.budget.heldBytes == 0)
    }

    @Test("An end that has no status is the server's failure", arguments: [true, false])
    func failure(isError: Bool) async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let answers = try await client.call().stream.outbound
        if isError {
            await answers.finish(throwing: CancellationError())
        } else {
            await answers.finish()
        }
        #expect(try await client.answer().ending["grpc-status"] == ["13"])
    }

    // MARK: Its end

    @Test("A client that disconnects cancels the work of its call", arguments: [true, false])
    func left(isConnection: Bool) async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let call = try await client.call()
        if isConnection { try await client.channel.close() } else { try await client.close() }
        try await call.context.cancellation.cancelled
        await #expect(throws: RPCError.self) { try await TestConnection.messages(call) }
        await #expect(throws: RPCError.self) {
            try await call.stream.outbound.write(.message([1]))
        }
    }

    @Test("A client that does not end its side after the answer is not waited for")
    func lingering() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let call = try await client.call()
        try await call.stream.outbound.write(.status(.init(code: .ok, message: ""), [:]))
        _ = try await client.answer()
        await client.loop.advanceTime(by: .seconds(4))
        #expect(try await client.sent().isEmpty)
        await client.loop.advanceTime(by: .seconds(1))
        #expect(try await client.sent().map(\.text) == ["reset 0"])
    }

    @Test("A task that is cancelled while it waits for a request goes on")
    func cancelled() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        let call = try await client.call()
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var requests = call.stream.inbound.makeAsyncIterator()
            _ = try await requests.next()
            hasBegun.yield()
            return try await requests.next() == nil
        }
        for await _ in begun { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: Time

    @Test("A call is served until its deadline, and then fails with DEADLINE_EXCEEDED")
    func deadline() async throws {
        let client = try await TestConnection()
        try await client.open("Listen", ["grpc-timeout": "1500m"])
        let call = try await client.call()
        var requests = call.stream.inbound.makeAsyncIterator()
        guard case .metadata(let metadata) = try await requests.next() else {
            Issue.record("no headers")
            return
        }
        // The timeout is not passed to gRPC, which would keep a task for it.
        #expect(Array(metadata[stringValues: "grpc-timeout"]).isEmpty)
        await client.loop.advanceTime(by: .milliseconds(1_499))
        #expect(try await client.ending() == nil)
        await client.loop.advanceTime(by: .milliseconds(1))
        let ending = try #require(try await client.ending())
        #expect(ending[":status"] == ["200"] && ending["grpc-status"] == ["4"])
        try await call.context.cancellation.cancelled
    }

    @Test(
        "A time that is over when the call is, or that cannot be read, ends nothing",
        arguments: [nil, "1 minute", "99999999H"])
    func noDeadline(timeout: String?) async throws {
        let client = try await TestConnection()
        try await client.open("Listen", timeout.map { ["grpc-timeout": $0] } ?? [:])
        try await client.open("Listen", on: 3, ["grpc-timeout": "60S"])
        try await client.close(3)
        try await client.say(.ping(HTTP2PingData(), ack: true), on: .rootStream)
        await client.loop.advanceTime(by: .seconds(70))
        #expect(try await client.sent(1).isEmpty)
        #expect(try await client.sent(3).isEmpty)
    }

    @Test("A call that has answered ends with its code alone")
    func answered() async throws {
        let client = try await TestConnection()
        try await client.open("Listen", ["grpc-timeout": "1S"])
        try await (try await client.call()).stream.outbound.write(.metadata([:]))
        _ = try await client.next()
        await client.loop.advanceTime(by: .seconds(1))
        let ending = try #require(try await client.ending())
        #expect(ending[":status"].isEmpty && ending["grpc-status"] == ["4"])
    }

    // MARK: How far one side may be ahead

    @Test("Writing waits while the client is far behind")
    func behind() async throws {
        let client = try await TestConnection()
        try await client.open("RunQuery")
        let call = try await client.call()
        client.dam.raise()
        let writer = Task {
            for _ in 0..<4 {
                try await call.stream.outbound.write(.message([UInt8](repeating: 1, count: 40_000)))
            }
        }
        var bytes = 0
        while bytes < 80_010 {
            if case .data(let data) = try await client.next() { bytes += data.data.readableBytes }
        }
        #expect(try await client.sent().isEmpty)
        client.dam.lower()
        try await writer.value
    }

    @Test("Waiting for a client that disconnects fails")
    func behindAndGone() async throws {
        let client = try await TestConnection()
        try await client.open("RunQuery")
        let call = try await client.call()
        client.dam.raise()
        let writer = Task {
            try await call.stream.outbound.write(.message([UInt8](repeating: 1, count: 70_000)))
        }
        while true { if case .data = try await client.next() { break } }
        try await client.close()
        await #expect(throws: RPCError.self) { try await writer.value }
        client.dam.lower()
    }

    private func credits(_ client: TestConnection, _ id: HTTP2StreamID) async throws -> Int {
        try await client.sent(id).reduce(0) { sum, frame in
            if case .windowUpdate(let bytes) = frame { sum + bytes } else { sum }
        }
    }

    @Test("A client may send as much again as has been taken of a call, and has come of all")
    func credit() async throws {
        let window = HTTP2Connection.windowBytes
        let client = try await TestConnection(budget: 100 << 20)
        try await client.open("Write")
        let call = try await client.call()
        // What HTTP/2 allows first is little.
        #expect(try await credits(client, .rootStream) == window - 65_535)
        let message = TestConnection.message(window / 8)
        for _ in 0..<8 { try await client.send(message) }
        #expect(try await credits(client, .rootStream) == window)
        #expect(try await credits(client, 1) == window / 2)
        var requests = call.stream.inbound.makeAsyncIterator()
        _ = try await TestConnection.messages(3, &requests)
        #expect(try await credits(client, 1) == 0)
        _ = try await TestConnection.messages(1, &requests)
        #expect(try await credits(client, 1) == window / 2)
    }

    @Test("Messages without contents count as well")
    func emptyMessages() async throws {
        let window = HTTP2Connection.windowBytes
        let client = try await TestConnection()
        try await client.open("Write")
        let call = try await client.call()
        let empty = (0..<window / 20).flatMap { _ in TestConnection.message(5) }
        for _ in 0..<2 { try await client.send(empty) }
        #expect(try await credits(client, 1) == 0)
        try await client.send(empty)
        #expect(try await credits(client, 1) == 0)
        var requests = call.stream.inbound.makeAsyncIterator()
        #expect(try await TestConnection.messages(window / 20 * 3, &requests).count > 0)
        #expect(try await credits(client, 1) > window / 2)
    }
}
