import GRPCCore
import LarderHTTP
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: the memory of requests")
struct RequestRoomTests {
    private typealias Client = TestConnection

    private func open(_ count: Int) async throws -> Client {
        let client = try await Client { $0.requestBytes = 599_995 }
        for number in 0..<count { try await client.open("Commit", on: id(number)) }
        return client
    }

    private func id(_ number: Int) -> HTTP2StreamID { HTTP2StreamID(number * 2 + 1) }

    @Test("A call that asks once holds its request until it ends")
    func single() async throws {
        let client = try await open(1)
        try await client.send(Client.message(600), isLast: true)
        let call = try await client.call()
        #expect(try await Client.messages(call).map(\.count) == [595])
        #expect(client.budget.heldBytes == 600)
        try await call.stream.outbound.write(.message([1]))
        #expect(client.budget.heldBytes == 600)
        try await client.close()
        #expect(client.budget.heldBytes == 0)
    }

    @Test("Requests beyond the budget wait in order, and do not block small ones")
    func waiting() async throws {
        let client = try await open(4)
        var requests: [CallTransport.Inbound.AsyncIterator] = []
        for number in 0..<4 {
            requests.append(try await client.call().stream.inbound.makeAsyncIterator())
            let size = number < 3 ? 600_000 : 500
            try await client.send(Client.message(size), on: id(number), isLast: true)
        }
        #expect(client.budget.heldBytes == 600_500)
        for number in [0, 3] {
            #expect(try await Client.messages(1, &requests[number]).count == 1)
        }
        try await client.close(id(3))
        for number in 0..<3 {
            try await client.close(id(number))
            await client.loop.run()
            #expect(client.budget.heldBytes == (number < 2 ? 600_000 : 0))
            guard number < 2 else { continue }
            #expect(try await Client.messages(.max, &requests[number + 1]).count == 1)
        }
    }

    @Test(
        "A request holds budget from its announced length, and data received meanwhile stays in order"
    )
    func parts() async throws {
        let client = try await open(2)
        let whole = Client.message(600_000)
        try await client.send(whole.prefix(6), on: id(0))
        #expect(client.budget.heldBytes == 600_000)
        try await client.send(Client.message(500_000), on: id(1))
        try await client.send(Client.message(700), on: id(1), isLast: true)
        try await client.send(whole.dropFirst(6), on: id(0), isLast: true)
        #expect(try await Client.messages(try await client.call()).map(\.count) == [599_995])
        #expect(client.budget.heldBytes == 600_000)
        try await client.close(id(0))
        await client.loop.run()
        #expect(try await Client.messages(try await client.call()).map(\.count) == [499_995, 695])
        #expect(client.budget.heldBytes == 500_700)
        try await client.close(id(1))
        #expect(client.budget.heldBytes == 0)
    }

    @Test("A request that gets no budget in time, or is incomplete, is refused and dropped")
    func refused() async throws {
        let client = try await TestConnection {
            $0.requestBytes = 599_995
            $0.keepaliveInterval = .seconds(10_000)
        }
        for number in 0..<3 { try await client.open("Commit", on: id(number)) }
        try await client.send(Client.message(600_000).prefix(5), on: id(0))
        await client.loop.advanceTime(by: .seconds(1))
        try await client.send(Client.message(600_000), on: id(1))
        await client.loop.advanceTime(by: .seconds(58))
        #expect(try await client.ending(id(0)) == nil)
        await client.loop.advanceTime(by: .seconds(1))
        let headers = try #require(try await client.ending(id(0)))
        #expect(headers[":status"] == ["200"] && headers["grpc-status"] == ["8"])
        // Now the other has the room, and what has come whole is served as long as it takes.
        await client.loop.advanceTime(by: .seconds(100))
        #expect(try await client.ending(id(1)) == nil)
        #expect(client.budget.heldBytes == 600_000)
        // One that waits for room.
        try await client.send(Client.message(600_000), on: id(2))
        await client.loop.advanceTime(by: .seconds(60))
        #expect(try await client.ending(id(2))?["grpc-status"] == ["8"])
        try await client.send(Client.message(100), on: id(2))
        #expect(client.budget.heldBytes == 600_000)
    }

    @Test("Each request has the time, also where a frame has the end of one and the next one")
    func backlog() async throws {
        let client = try await TestConnection { $0.keepaliveInterval = .seconds(10_000) }
        try await client.open("Write")
        let call = try await client.call()
        var bytes = (0..<20).flatMap { _ in Client.message(100_000) }[...]
        while !bytes.isEmpty {
            try await client.send(bytes.prefix(70_000))
            bytes = bytes.dropFirst(70_000)
            // The answers keep room for more.
            try await call.stream.outbound.write(.message([1]))
            await client.loop.advanceTime(by: .seconds(25))
        }
        #expect(try await client.ending() == nil)
        var requests = call.stream.inbound.makeAsyncIterator()
        #expect(try await Client.messages(20, &requests).count == 20)
    }

    @Test("A call that goes while it waits leaves its room to others")
    func left() async throws {
        let client = try await open(4)
        for number in 0..<3 {
            try await client.send(Client.message(600_000), on: id(number), isLast: true)
        }
        try await client.close(id(1))
        try await client.close(id(0))
        await client.loop.run()
        #expect(client.budget.heldBytes == 600_000)
        // It is notified that there is room, and has gone.
        try await client.send(Client.message(600_000), on: id(3))
        try await client.close(id(2))
        try await client.close(id(3))
        await client.loop.run()
        #expect(client.budget.heldBytes == 0)
    }

    @Test("Each answer of a stream serves its oldest request")
    func streams() async throws {
        let client = try await open(1)
        let call = try await client.call()
        for size in [30, 20] { try await client.send(Client.message(size)) }
        #expect(client.budget.heldBytes == 50)
        try await call.stream.outbound.write(.message([1]))
        #expect(client.budget.heldBytes == 20)
        // An answer to nothing serves nothing.
        try await call.stream.outbound.write(contentsOf: [.message([2]), .message([3])])
        #expect(client.budget.heldBytes == 0)
        try await client.send(Client.message(99))
        #expect(client.budget.heldBytes == 99)
    }
}
