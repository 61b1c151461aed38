import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("Server: responses at the pace of clients")
struct PagedResponseTests {
    private let test = ServiceUnderTest()

    private func query(_ collection: String = "c") -> Google_Firestore_V1_RunQueryRequest {
        .with {
            $0.parent = test.root
            $0.structuredQuery.from = [.with { $0.collectionID = collection }]
        }
    }

    /// Makes documents of 100 KiB.
    private func fill(_ count: Int) async throws {
        let database = try await test.service.database(test.root)
        let bytes = Value.bytes([UInt8](repeating: 7, count: 100 << 10))
        for number in 0..<count {
            let path = try DocumentPath("c/\(1_000 + number)")
            _ = try await database.commit([Mutation(.set(try Record(["b": bytes])), at: path)])
        }
    }

    private func ask(
        _ client: TestConnection, _ request: some Message, _ method: String = "RunQuery",
        on id: HTTP2StreamID = 1
    ) async throws {
        try await client.open(method, on: id)
        try await client.send(TestConnection.framed(request), on: id, isLast: true)
    }

    /// Waits for a number of bytes of a response.
    private func receive(_ size: Int, _ client: TestConnection, on id: HTTP2StreamID = 1)
        async throws
    {
        var received = 0
        while received < size {
            if case .data(let data) = try await client.next(id) {
                received += data.data.readableBytes
            }
        }
    }

    @Test("Slow readers, however many, occupy no thread: a query of another client is served")
    func slowReaders() async throws {
        let test = ServiceUnderTest { $0.readers = 1 }
        let slow = try await TestConnection(test.service.methods)
        let database = try await test.service.database(test.root)
        let bytes = Value.bytes([UInt8](repeating: 7, count: 100 << 10))
        for number in 0..<10 {
            let path = try DocumentPath("c/\(number)")
            _ = try await database.commit([Mutation(.set(try Record(["b": bytes])), at: path)])
        }
        slow.dam.raise()
        for number in 0..<20 {
            let id = HTTP2StreamID(2 * number + 1)
            try await ask(slow, query(), on: id)
            try await receive(200 << 10, slow, on: id)
        }
        // All of them have a page ahead, and produce no further one.
        #expect(try await slow.sent().isEmpty)
        let other = try await TestConnection(test.service.methods)
        try await ask(other, query())
        let (messages, ending) = try await other.answer()
        #expect(messages.count == 10 && ending == ResponseHeaders.success)
        slow.dam.lower()
        await slow.loop.run()
        for number in 0..<20 {
            try await receive(700 << 10, slow, on: HTTP2StreamID(2 * number + 1))
        }
    }

    @Test("A slow reader's response is of one commit for a time, and then of a later one")
    func snapshot() async throws {
        try await fill(12)
        let client = try await TestConnection(test.service.methods) {
            $0.snapshotTime = .seconds(30)
            $0.keepaliveInterval = .seconds(10_000)
        }
        client.dam.raise()
        try await ask(client, query())
        try await receive(200 << 10, client)
        let database = try await test.service.database(test.root)
        let core = database.backend
        _ = try await database.commit([Mutation(.delete, at: try DocumentPath("c/1011"))])
        await client.loop.advanceTime(by: .seconds(31))
        client.dam.lower()
        await client.loop.run()
        // 11 documents in all; three of them are received.
        try await receive(780 << 10, client)
        #expect(try core.document(at: DocumentPath("c/1011")) == nil)
        var rest: HTTP2Frame.FramePayload = try await client.next()
        while case .data = rest { rest = try await client.next() }
        guard case .headers(let ending) = rest else {
            Issue.record("no end")
            return
        }
        #expect(ending.headers == ResponseHeaders.success)
    }

    @Test("A client that leaves ends the query, and releases what it holds")
    func left() async throws {
        try await fill(6)
        let client = try await TestConnection(test.service.methods)
        client.dam.raise()
        try await ask(client, query())
        try await receive(200 << 10, client)
        try await client.close()
        client.dam.lower()
        await client.loop.run()
        #expect(client.ledger.heldBytes == 0)
        // Nothing holds the database any longer.
        #expect(await test.databases.close().isEmpty)
    }

    /// Pages of a MiB.
    private final class LargePages: PageSource {
        var cursor: DocumentCursor? { nil }

        func next(maxBytes: Int) throws(LarderError) -> ResponsePage {
            ResponsePage(messages: [[UInt8](repeating: 7, count: 1 << 20)], isLast: false)
        }
    }

    @Test("Pages of many responses to a client that takes none are not produced all at once")
    func unread() async throws {
        let pool = WorkPool("test", limit: 1)
        let account = MemoryLedger(limit: .max).open { $0() }
        let origin = CallOrigin(account, account.open())
        let produced = Box(0)
        let responses = (0..<10).map { _ in
            PagedResponse(on: pool, maxBytes: 1) { () throws(LarderError) in LargePages() }
        }
        for response in responses {
            response.next(for: origin) { _ in produced.withLock { $0 += 1 } }
        }
        try await CallOrigin.$current.withValue(origin) {
            try await pool.run { () throws(LarderError) in }
        }
        #expect(produced.withLock { $0 } == ResponseBacklog.maxBytes >> 20)
    }

    @Test("An error before the first page is the whole response")
    func refused() async throws {
        let client = try await TestConnection(test.service.methods)
        var request = query()
        request.structuredQuery.limit = -1
        try await ask(client, request)
        let (messages, ending) = try await client.answer()
        #expect(messages.isEmpty && ending["grpc-status"] == ["3"])
    }

    // MARK: Memory

    @Test("Requests are charged by what came, not by what was announced, and time out")
    func partialRequests() async throws {
        let client = try await TestConnection { $0.keepaliveInterval = .seconds(10_000) }
        for number in 0..<24 {
            let id = HTTP2StreamID(2 * number + 1)
            try await client.open("Write", on: id)
            try await client.send([0, 0, 0xa0, 0, 0, 1, 2, 3, 4, 5], on: id)
        }
        #expect(client.ledger.heldBytes == 0)
        await client.loop.advanceTime(by: .seconds(59))
        #expect(try await client.ending(1) == nil)
        await client.loop.advanceTime(by: .seconds(1))
        for number in 0..<24 {
            let ending = try await client.ending(HTTP2StreamID(2 * number + 1))
            #expect(ending?["grpc-status"] == ["8"])
        }
    }

    @Test(
        "Small requests less their last byte are charged, and the largest client is refused first")
    func smallRequests() async throws {
        let client = try await TestConnection(memory: 4 << 20)
        let part = TestConnection.message(64 << 10).dropLast()
        for number in 0..<100 {
            let id = HTTP2StreamID(2 * number + 1)
            try await client.open("Write", on: id)
            try await client.send(part, on: id)
            await client.loop.run()
            #expect(client.ledger.heldBytes <= 4 << 20)
        }
        #expect(client.ledger.reliefCount >= 36)
        var refused = 0
        for number in 0..<100 {
            let ending = try await client.ending(HTTP2StreamID(2 * number + 1))
            if ending?["grpc-status"] == ["8"] { refused += 1 }
        }
        #expect(refused == client.ledger.reliefCount)
        try await client.channel.close()
        #expect(client.ledger.heldBytes == 0)
    }

    @Test("Large requests of many clients are served one after the other, none is refused")
    func largeRequests() async throws {
        let client = try await TestConnection(memory: 4 << 20)
        let whole = TestConnection.message(400_000)
        for number in 0..<3 {
            let id = HTTP2StreamID(2 * number + 1)
            try await client.open("Write", on: id)
            try await client.send(whole, on: id)
        }
        // Half of the memory is for requests of 1.6 MB in all.
        #expect(client.stream.withLock { $0.requests.count } == 1)
        try await client.close(1)
        await client.loop.run()
        #expect(client.stream.withLock { $0.requests.count } == 2)
        try await client.close(3)
        await client.loop.run()
        #expect(client.stream.withLock { $0.requests.count } == 3)
        try await client.close(5)
        #expect(client.ledger.heldBytes == 0 && client.ledger.reliefCount == 0)
    }
}
