import LarderCore
import LarderHTTP
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: calls that are streams")
struct OpenStreamTests {
    private func connect(isWhole: Bool = false) async throws -> TestConnection {
        let client = try await TestConnection()
        try await client.open("Listen", isWhole: isWhole)
        return client
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
        #expect(client.stream.withLock { $0.requests } == [[1]])
        client.stream.withLock { $0.isBusy = true }
        try await client.send(TestConnection.framed([2]).dropFirst(3), isLast: true)
        #expect(client.stream.withLock { $0.requests.count == 1 && $0.finishCount == 0 })
        client.stream.withLock { $0.isBusy = false }
        try await client.onLoop { $0.read() }
        #expect(client.stream.withLock { $0.requests } == [[1], [2]])
        #expect(client.stream.withLock { $0.finishCount == 1 && $0.closeCount == 0 })
    }

    @Test("While it is busy its client may not send on")
    func credit() async throws {
        let client = try await connect()
        client.stream.withLock { $0.isBusy = true }
        let window = HTTP2Connection.windowBytes
        for _ in 0..<4 { try await client.send(TestConnection.message(window / 4)) }
        #expect(try await credits(client) == 0)
        client.stream.withLock { $0.isBusy = false }
        try await client.onLoop { $0.read() }
        #expect(try await credits(client) == window)
        #expect(client.stream.withLock { $0.requests.count } == 4)
    }

    @Test("It is notified once of the end of the call, for any reason", arguments: 0..<4)
    func ends(way: Int) async throws {
        let client = try await connect(isWhole: way == 0)
        switch way {
        case 0:
            #expect(client.stream.withLock { $0.finishCount } == 1)
            try await client.onLoop { $0.end() }
        case 1: try await client.onLoop { $0.refuse(.clientHasLeft) }
        case 2: try await client.close()
        default: try await client.channel.close()
        }
        #expect(client.stream.withLock { $0.closeCount } == 1)
        if way < 2 {
            #expect(try await client.answer().ending["grpc-status"] == [way == 0 ? "0" : "1"])
            try await client.close()
        }
        #expect(client.stream.withLock { $0.closeCount } == 1)
    }

    @Test("A response releases the memory of the oldest request")
    func memory() async throws {
        let client = try await connect()
        let size = 10_000
        try await client.send(TestConnection.message(size) + TestConnection.message(2 * size))
        #expect(client.ledger.heldBytes == 4 * 3 * size)
        try await client.onLoop { _ = $0.write([[7]]) }
        #expect(client.ledger.heldBytes == 4 * 2 * size)
        // A response without a request releases nothing else.
        try await client.onLoop { _ = $0.write([[8], [9]]) }
        #expect(client.ledger.heldBytes == 0)
        try await client.send(TestConnection.message(size))
        try await client.onLoop { $0.end() }
        #expect(client.ledger.heldBytes == 0)
        try await client.onLoop { #expect(!$0.write([[8]])) }
        #expect(try await client.answer().messages == [[7], [8], [9]])
        #expect(try await client.sent().isEmpty)
    }
}
