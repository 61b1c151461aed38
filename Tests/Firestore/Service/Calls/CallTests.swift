import LarderCore
import LarderHTTP
import LarderTestSupport
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
            testDescription: "gRPC-Web", headers: ["content-type": "application/grpc-web+proto"],
            ending: [":status": "415"]),
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
        #expect(try await client.sent().isEmpty && client.ledger.heldBytes == 0)
    }

    @Test("Calls with the token, with any encoding and in any format of gRPC, are served")
    func admitted() async throws {
        for (encoding, format) in [("identity", ""), ("gzip", "+proto"), ("gzip", ";x=y")] {
            let client = try await TestConnection(token: BearerToken("secret"))
            let fields: HPACKHeaders = [
                "authorization": "Bearer secret", "grpc-encoding": encoding, "x": "y",
                "content-type": "application/grpc\(format)",
            ]
            try await client.open("Listen", fields)
            try await client.send(TestConnection.framed([1]))
            #expect(client.stream.withLock { $0.method } == "Listen")
            #expect(client.stream.withLock { $0.requests } == [[1]])
        }
    }

    @Test(
        "A compressed message ends the call",
        arguments: [(nil, "13"), ("identity", "13"), ("gzip", "12")])
    func compressed(encoding: String?, status: String) async throws {
        let client = try await TestConnection()
        try await client.open("Listen", encoding.map { ["grpc-encoding": $0] } ?? [:])
        try await client.send(TestConnection.framed([1]) + [1, 0, 0, 0, 1, 1])
        let ending = try #require(try await client.ending())
        #expect(ending["grpc-status"] == [status])
        #expect(ending["grpc-accept-encoding"] == (status == "12" ? ["identity"] : []))
        #expect(client.stream.withLock { $0.requests } == [[1]])
        #expect(client.ledger.heldBytes == 0)
    }

    @Test("Requests and answers pass both ways, and a status ends the call")
    func passes() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        try await client.send(TestConnection.framed([1]) + TestConnection.framed([2, 3]).prefix(6))
        #expect(client.stream.withLock { $0.requests } == [[1]])
        try await client.send([3] + TestConnection.framed([]), isLast: true)
        #expect(client.stream.withLock { $0.requests } == [[1], [2, 3], []])
        #expect(client.stream.withLock { $0.finishCount } == 1)
        try await client.onLoop { call in
            _ = call.write([[7], []])
            call.end()
            #expect(!call.write([[8]]))
        }
        let (messages, ending) = try await client.answer()
        #expect(messages == [[7], []] && ending == ResponseHeaders.success)
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
        try await client.send(bytes, isLast: true)
        #expect(try await client.ending()?["grpc-status"] == [status])
        #expect(client.stream.withLock { $0.closeCount } == 1 && client.ledger.heldBytes == 0)
    }

    // MARK: Its end

    @Test("A client that disconnects ends its call", arguments: [true, false])
    func left(isConnection: Bool) async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        if isConnection { try await client.channel.close() } else { try await client.close() }
        #expect(client.stream.withLock { $0.closeCount } == 1)
        try await client.onLoop { #expect(!$0.write([[1]])) }
    }

    @Test("A client that does not end its side after the answer is not waited for")
    func lingering() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        try await client.onLoop { $0.end() }
        _ = try await client.answer()
        await client.loop.advanceTime(by: .seconds(4))
        #expect(try await client.sent().isEmpty)
        await client.loop.advanceTime(by: .seconds(1))
        #expect(try await client.sent().map(\.text) == ["reset 0"])
    }

    // MARK: Time

    @Test("A call is served until its deadline, and then fails with DEADLINE_EXCEEDED")
    func deadline() async throws {
        let client = try await TestConnection()
        try await client.open("Listen", ["grpc-timeout": "1500m"])
        await client.loop.advanceTime(by: .milliseconds(1_499))
        #expect(try await client.ending() == nil)
        await client.loop.advanceTime(by: .milliseconds(1))
        #expect(try await client.ending()?["grpc-status"] == ["4"])
        #expect(client.stream.withLock { $0.closeCount } == 1)
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
        #expect(try await client.ending(1) == nil)
        #expect(try await client.ending(3) == nil)
    }

    @Test("A call that has answered ends with its code alone")
    func answered() async throws {
        let client = try await TestConnection()
        try await client.open("Listen", ["grpc-timeout": "1S"])
        try await client.onLoop { _ = $0.write([[1]]) }
        await client.loop.advanceTime(by: .seconds(1))
        let ending = try #require(try await client.ending())
        #expect(ending[":status"].isEmpty && ending["grpc-status"] == ["4"])
    }

    // MARK: How far one side may be ahead

    @Test("A producer waits while the client is far behind, and no longer once it has left")
    func behind() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        client.dam.raise()
        let resumed = Box(0)
        try await client.onLoop { call in
            call.wait { resumed.withLock { $0 += 1 } }
            #expect(resumed.withLock { $0 } == 1)
            #expect(!call.write([[UInt8](repeating: 1, count: 40_000)]))
            #expect(call.write([[UInt8](repeating: 1, count: 40_000)]))
            call.wait { resumed.withLock { $0 += 1 } }
        }
        #expect(resumed.withLock { $0 } == 1)
        client.dam.lower()
        await client.loop.run()
        #expect(resumed.withLock { $0 } == 2)
        client.dam.raise()
        try await client.onLoop { call in
            _ = call.write([[UInt8](repeating: 1, count: 70_000)])
            call.wait { resumed.withLock { $0 += 1 } }
        }
        try await client.close()
        client.dam.lower()
        await client.loop.run()
        #expect(resumed.withLock { $0 } == 2)
    }

    private func credits(_ client: TestConnection, _ id: HTTP2StreamID) async throws -> Int {
        try await client.sent(id).reduce(0) { sum, frame in
            if case .windowUpdate(let bytes) = frame { sum + bytes } else { sum }
        }
    }

    @Test("A client may send as much again as has come")
    func credit() async throws {
        let window = HTTP2Connection.windowBytes
        let client = try await TestConnection()
        try await client.open("Write")
        // What HTTP/2 allows first is little.
        #expect(try await credits(client, .rootStream) == window - 65_535)
        let message = TestConnection.message(window / 8)
        for _ in 0..<8 { try await client.send(message) }
        #expect(try await credits(client, .rootStream) == window)
        #expect(try await credits(client, 1) == window)
    }

    @Test("Requests that are announced and do not come hold up no other client")
    func announced() async throws {
        let client = try await TestConnection(memory: 44 << 20)
        for number in 0..<24 {
            let id = HTTP2StreamID(2 * number + 1)
            try await client.open("Listen", on: id)
            // 11 MiB, of which nothing follows.
            try await client.send([0, 0, 0xb0, 0, 0], on: id)
        }
        #expect(client.ledger.heldBytes < 100_000)
        try await client.open("Commit", on: 101)
        let message = TestConnection.message(400_000)
        for piece in stride(from: 0, to: message.count, by: 16_384) {
            let end = min(piece + 16_384, message.count)
            try await client.send(message[piece..<end], on: 101, isLast: end == message.count)
        }
        #expect(client.stream.withLock { $0.requests.map(\.count) } == [400_000 - 5])
    }

    @Test("A refused call keeps nothing of a request of which a part has come")
    func refusedPart() async throws {
        let client = try await TestConnection()
        try await client.open("Listen")
        try await client.send([0, 0, 1, 0, 0] + [UInt8](repeating: 1, count: 30_000))
        #expect(client.ledger.heldBytes > 30_000)
        try await client.onLoop { call in
            call.refuse(StreamRefusal.memory)
            #expect(call.partBytes == 0)
        }
        #expect(client.ledger.heldBytes == 0)
    }
}
