import GRPCCore
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: the life of a connection")
struct CallConnectionTests {
    private func isPing(_ frame: HTTP2Frame.FramePayload) -> HTTP2PingData? {
        if case .ping(let data, ack: false) = frame { data } else { nil }
    }

    @Test("A silent client is asked for a sign of life, and let go without one")
    func silence() async throws {
        let client = try await TestConnection()
        await client.loop.advanceTime(by: .seconds(59))
        #expect(try await client.sent(.rootStream).isEmpty)
        await client.loop.advanceTime(by: .seconds(1))
        let asked = try await client.sent(.rootStream).compactMap(isPing)
        #expect(asked.count == 1)
        await client.loop.advanceTime(by: .seconds(19))
        try await client.say(.ping(try #require(asked.first), ack: true), on: .rootStream)
        await client.loop.advanceTime(by: .seconds(60))
        #expect(try await client.sent(.rootStream).compactMap(isPing).count == 1)
        await client.loop.advanceTime(by: .seconds(19))
        #expect(client.channel.isActive)
        await client.loop.advanceTime(by: .seconds(1))
        #expect(!client.channel.isActive)
    }

    @Test("A server may wait for ever")
    func patience() async throws {
        let client = try await TestConnection {
            $0.keepaliveInterval = .seconds(Int64.max)
            $0.keepaliveTimeout = .seconds(Int64.max)
        }
        await client.loop.advanceTime(by: .hours(1_000))
        #expect(try await client.sent(.rootStream).isEmpty && client.channel.isActive)
        let keepalive = Keepalive(
            interval: .nanoseconds(1), timeout: .seconds(Int64.max), now: .uptimeNanoseconds(5))
        #expect(
            keepalive.action(at: .uptimeNanoseconds(7)) == .ask(.nanoseconds(Int64.max - 2)))
    }

    @Test("A client that asks for signs of life too often is told so, and let go")
    func pings() async throws {
        let client = try await TestConnection()
        let ping = HTTP2Frame.FramePayload.ping(HTTP2PingData(withInteger: 7), ack: false)
        for _ in 0..<10 {
            await client.loop.advanceTime(by: .seconds(5))
            try await client.say(ping, on: .rootStream)
        }
        // Two too soon are borne, and forgotten when the server has said something.
        for _ in 0..<2 { try await client.say(ping, on: .rootStream) }
        try await client.open("Dance")
        for _ in 0..<3 { try await client.say(ping, on: .rootStream) }
        #expect(client.channel.isActive)
        try await client.say(ping, on: .rootStream)
        await client.loop.run()
        #expect(!client.channel.isActive)
        let last = try await client.sent(.rootStream).last
        #expect(last?.text == "go away 11 behind 1 too_many_pings")
    }

    @Test("A server that stops lets the calls end that have been made")
    func leaving() async throws {
        let client = try await TestConnection()
        try await client.open("Listen", on: 1)
        let first = try await client.call()
        _ = try await client.sent(.rootStream)
        try await client.tell(ChannelShouldQuiesceEvent())
        let frames = try await client.sent(.rootStream)
        #expect(frames.map(\.text) == ["go away 0 behind \(Int32.max) ", "ping"])
        let ping = try #require(frames.compactMap(isPing).first)
        // It was on its way.
        try await client.open("Listen", on: 3)
        let second = try await client.call()
        try await client.say(.ping(ping, ack: true), on: .rootStream)
        #expect(try await client.sent(.rootStream).map(\.text) == ["go away 0 behind 3 "])
        for (id, call) in [(1, first), (3, second)] as [(HTTP2StreamID, TestConnection.Served)] {
            #expect(client.channel.isActive && !call.context.cancellation.isCancelled)
            try await call.stream.outbound.write(.status(.init(code: .ok, message: ""), [:]))
            #expect(try await client.answer(id).ending["grpc-status"] == ["0"])
            try await client.close(id)
        }
        #expect(!client.channel.isActive)
    }

    @Test("A connection without calls ends as soon as its client has heard that it is to")
    func leavingIdle() async throws {
        let client = try await TestConnection()
        try await client.tell(ChannelShouldQuiesceEvent())
        let ping = try #require(try await client.sent(.rootStream).compactMap(isPing).first)
        #expect(client.channel.isActive)
        try await client.say(.ping(ping, ack: true), on: .rootStream)
        await client.loop.run()
        #expect(!client.channel.isActive)
    }

    @Test("A client that says more behind its request loses the call, and not the others")
    func trailers() async throws {
        let client = try await TestConnection()
        for id in [1, 3] as [HTTP2StreamID] { try await client.open("Listen", on: id) }
        try await client.open("Listen", on: 1)
        #expect(try await client.sent(1).map(\.text) == ["reset 1"])
        #expect(try await client.sent(3).isEmpty && client.channel.isActive)
    }

    @Test("An error of the connection ends it")
    func errors() async throws {
        let client = try await TestConnection()
        client.channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        await client.loop.run()
        #expect(!client.channel.isActive)
    }
}
