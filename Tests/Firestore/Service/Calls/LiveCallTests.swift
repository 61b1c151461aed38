import GRPCCore
import LarderHTTP
import LarderTestSupport
import LarderWire
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

/// A call that a test serves, on the event loop of its connection.
private final class TestCall: LiveCall {
    /// What the test sees of it.
    struct Seen {
        var isBusy = false
        var requests: [[UInt8]] = []
        var finishCount = 0
        var closeCount = 0
    }

    let call: Call
    let seen: Box<Seen>

    init(_ call: Call, _ seen: Box<Seen>) {
        (self.call, self.seen) = (call, seen)
    }

    var isBusy: Bool { seen.withLock { $0.isBusy } }
    func take(_ request: [UInt8]) { seen.withLock { $0.requests.append(request) } }
    func finish() { seen.withLock { $0.finishCount += 1 } }
    func close() { seen.withLock { $0.closeCount += 1 } }
}

@Suite("Server: calls that are served from their connections")
final class LiveCallTests {
    private let seen = Box(TestCall.Seen())
    private let call = Box<NIOLoopBound<Call>?>(nil)

    // The call keeps what its connection is made of, and with it the box.
    deinit { call.withLock { $0 = nil } }

    private func connect(isWhole: Bool = false) async throws -> TestConnection {
        let method = LiveMethod(method: Google_Firestore_V1_Firestore.Method.Listen.descriptor) {
            [seen, call] opened, _, _ in
            let bound = NIOLoopBound(opened, eventLoop: opened.loop)
            call.withLock { $0 = bound }
            return TestCall(opened, seen)
        }
        let client = try await TestConnection(live: [method], budget: 100 << 20)
        try await client.open("Listen", isWhole: isWhole)
        return client
    }

    /// Does something with the call on its event loop.
    private func onLoop(
        _ client: TestConnection, _ body: @escaping @Sendable (Call) -> Void
    ) async throws {
        let call = try #require(call.withLock { $0 })
        try await client.loop.executeInContext { body(call.value) }
        await client.loop.run()
    }

    private func credits(_ client: TestConnection) async throws -> Int {
        try await client.sent().reduce(0) { sum, frame in
            if case .windowUpdate(let bytes) = frame { sum + bytes } else { sum }
        }
    }

    @Test("It receives requests while it is not busy, and the end of requests once")
    func requests() async throws {
        let client = try await connect()
        try await client.send(TestConnection.framed([1]) + TestConnection.framed([2]).prefix(3))
        #expect(seen.withLock { $0.requests } == [[1]])
        seen.withLock { $0.isBusy = true }
        try await client.send(TestConnection.framed([2]).dropFirst(3), isLast: true)
        #expect(seen.withLock { $0.requests.count == 1 && $0.finishCount == 0 })
        seen.withLock { $0.isBusy = false }
        try await onLoop(client) { $0.read() }
        #expect(seen.withLock { $0.requests } == [[1], [2]])
        #expect(seen.withLock { $0.finishCount == 1 && $0.closeCount == 0 })
    }

    @Test("While it is busy its client may not send on")
    func credit() async throws {
        let client = try await connect()
        seen.withLock { $0.isBusy = true }
        let window = HTTP2Connection.windowBytes
        for _ in 0..<4 { try await client.send(TestConnection.message(window / 4)) }
        #expect(try await credits(client) == 0)
        seen.withLock { $0.isBusy = false }
        try await onLoop(client) { $0.read() }
        #expect(try await credits(client) == window)
        #expect(seen.withLock { $0.requests.count } == 4)
    }

    @Test("It is notified once of the end of the call, for any reason", arguments: 0..<4)
    func ends(way: Int) async throws {
        let client = try await connect(isWhole: way == 0)
        switch way {
        case 0:
            #expect(seen.withLock { $0.finishCount } == 1)
            try await onLoop(client) { $0.end() }
        case 1: try await onLoop(client) { $0.refuse(.clientHasLeft) }
        case 2: try await client.close()
        default: try await client.channel.close()
        }
        #expect(seen.withLock { $0.closeCount } == 1)
        if way < 2 {
            #expect(try await client.answer().ending["grpc-status"] == [way == 0 ? "0" : "1"])
            try await client.close()
        }
        #expect(seen.withLock { $0.closeCount } == 1)
    }

    @Test("An answer serves the oldest request, whose room others may have")
    func room() async throws {
        let client = try await connect()
        try await client.send(TestConnection.message(100) + TestConnection.message(50))
        #expect(client.budget.heldBytes == 150)
        try await onLoop(client) { _ = $0.write([[7]]) }
        #expect(client.budget.heldBytes == 50)
        try await onLoop(client) { $0.end() }
        #expect(client.budget.heldBytes == 0)
        try await onLoop(client) { #expect(!$0.write([[8]])) }
        #expect(try await client.answer().messages == [[7]])
        #expect(try await client.sent().isEmpty)
    }
}
