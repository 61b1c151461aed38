import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: what requests take at a time")
final class RequestMeterTests {
    private let budget = RequestBudget(limit: 1_000_000)
    private var channels: [EmbeddedChannel] = []

    deinit {
        for channel in channels { _ = try? channel.finish(acceptAlreadyClosed: true) }
    }

    private func call() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handlers: [
            RefusalHandler(),
            RequestMeter(budget, maxBytes: 600_000, patience: .seconds(60)),
        ])
        channels.append(channel)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// A message of a number of bytes, its prefix among them.
    private func message(_ bytes: Int) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(0, as: UInt8.self)
        buffer.writeInteger(UInt32(bytes - 5))
        buffer.writeRepeatingByte(1, count: bytes - 5)
        return buffer
    }

    private func data(_ bytes: ByteBuffer, isLast: Bool = false) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(bytes), endStream: isLast))
    }

    private func ending(of channel: EmbeddedChannel) throws -> HPACKHeaders? {
        while let frame = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) {
            if case .headers(let headers) = frame, headers.endStream { return headers.headers }
        }
        return nil
    }

    /// What has passed to who serves the call, in bytes.
    private func passed(_ channel: EmbeddedChannel) throws -> Int {
        var bytes = 0
        while let frame = try channel.readInbound(as: HTTP2Frame.FramePayload.self) {
            if case .data(let data) = frame { bytes += data.data.readableBytes }
        }
        return bytes
    }

    @Test("A call that asks once holds its request until it ends")
    func single() throws {
        let channel = try call()
        try channel.writeInbound(data(message(600), isLast: true))
        #expect(try budget.heldBytes == 600 && passed(channel) == 600)
        try channel.writeOutbound(data(message(10)))
        #expect(budget.heldBytes == 600)
        channel.close(promise: nil)
        #expect(budget.heldBytes == 0)
    }

    @Test("What does not fit waits, the first that comes first, and hinders nothing small")
    func waiting() throws {
        let calls = try (0..<3).map { _ in try call() }
        for channel in calls { try channel.writeInbound(data(message(600_000), isLast: true)) }
        #expect(try calls.map { try passed($0) } == [600_000, 0, 0])
        let small = try call()
        try small.writeInbound(data(message(500), isLast: true))
        #expect(try budget.heldBytes == 600_500 && passed(small) == 500)
        small.close(promise: nil)
        calls[0].close(promise: nil)
        for channel in calls { channel.embeddedEventLoop.run() }
        #expect(
            try budget.heldBytes == 600_000 && calls[1...].map { try passed($0) } == [600_000, 0])
        calls[1].close(promise: nil)
        for channel in calls { channel.embeddedEventLoop.run() }
        #expect(try budget.heldBytes == 600_000 && passed(calls[2]) == 600_000)
        calls[2].close(promise: nil)
        #expect(budget.heldBytes == 0)
    }

    @Test("A request has its room from its length on, and what comes meanwhile is kept in order")
    func parts() throws {
        let (first, second) = (try call(), try call())
        var whole = message(600_000)
        let start = whole.readSlice(length: 6)
        try first.writeInbound(data(try #require(start)))
        #expect(budget.heldBytes == 600_000)
        try second.writeInbound(data(message(500_000)))
        try second.writeInbound(data(message(700), isLast: true))
        try first.writeInbound(data(whole, isLast: true))
        #expect(try passed(first) == 600_000 && passed(second) == 0)
        first.close(promise: nil)
        second.embeddedEventLoop.run()
        #expect(try passed(second) == 500_700 && budget.heldBytes == 500_700)
        second.close(promise: nil)
        #expect(budget.heldBytes == 0)
    }

    @Test("What finds no room in time, or does not come whole, is refused and dropped")
    func refused() throws {
        let (slow, waiting) = (try call(), try call())
        var whole = message(600_000)
        let start = whole.readSlice(length: 5)
        try slow.writeInbound(data(try #require(start)))
        try waiting.writeInbound(data(message(600_000)))
        waiting.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(try ending(of: waiting) == nil)
        waiting.embeddedEventLoop.advanceTime(by: .seconds(1))
        let headers = try #require(try ending(of: waiting))
        #expect(headers[":status"] == ["200"] && headers["grpc-status"] == ["8"])
        try waiting.writeInbound(data(message(5)))
        #expect(try passed(waiting) == 0 && budget.heldBytes == 600_000)
        slow.embeddedEventLoop.advanceTime(by: .seconds(60))
        #expect(try ending(of: slow)?["grpc-status"] == ["8"])
        #expect(budget.heldBytes == 0)
        // A client that does not go when it is told is not waited for.
        slow.embeddedEventLoop.advanceTime(by: .seconds(4))
        #expect(slow.isActive)
        slow.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!slow.isActive)
        // What has come whole is served as long as it takes.
        let good = try call()
        try good.writeInbound(data(message(600_000), isLast: true))
        good.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(try ending(of: good) == nil)
    }

    @Test("Each request has the time, also where a frame has the end of one and the next one")
    func backlog() throws {
        let channel = try call()
        var bytes = ByteBuffer()
        for _ in 0..<20 { bytes.writeImmutableBuffer(message(100_000)) }
        while var frame = bytes.readSlice(length: min(70_000, bytes.readableBytes)),
            frame.readableBytes > 0
        {
            try channel.writeInbound(data(frame))
            // The answers keep room for more.
            try channel.writeOutbound(data(message(10)))
            channel.embeddedEventLoop.advanceTime(by: .seconds(25))
            frame.clear()
        }
        #expect(try ending(of: channel) == nil)
        #expect(try passed(channel) == 2_000_000)
    }

    @Test("A call that goes while it waits leaves its room to others")
    func left() throws {
        let calls = try (0..<3).map { _ in try call() }
        for channel in calls { try channel.writeInbound(data(message(600_000), isLast: true)) }
        calls[1].close(promise: nil)
        calls[0].close(promise: nil)
        for channel in calls { channel.embeddedEventLoop.run() }
        #expect(try passed(calls[2]) == 600_000 && budget.heldBytes == 600_000)
        // It was told of the room, and has gone.
        let last = try call()
        try last.writeInbound(data(message(600_000)))
        calls[2].close(promise: nil)
        last.close(promise: nil)
        last.embeddedEventLoop.run()
        #expect(budget.heldBytes == 0)
    }

    @Test("Each answer of a stream serves its oldest request")
    func streams() throws {
        let channel = try call()
        try channel.writeOutbound(HTTP2Frame.FramePayload.headers(.init(headers: [:])))
        for size in [30, 20] { try channel.writeInbound(data(message(size))) }
        var answers = message(9)
        answers.writeImmutableBuffer(message(8))
        let start = answers.readSlice(length: 11)
        try channel.writeOutbound(data(try #require(start)))
        #expect(budget.heldBytes == 20)
        try channel.writeOutbound(data(answers))
        #expect(budget.heldBytes == 0)
        // An answer to nothing serves nothing.
        try channel.writeOutbound(data(message(8)))
        try channel.writeInbound(data(message(99)))
        #expect(budget.heldBytes == 99)
    }

    @Test("A length that nobody may send holds no more than one that somebody may")
    func lies() throws {
        let channel = try call()
        var prefix = ByteBuffer()
        prefix.writeInteger(0, as: UInt8.self)
        prefix.writeInteger(UInt32.max)
        try channel.writeInbound(data(prefix))
        #expect(try budget.heldBytes == 600_000 && passed(channel) == 5)
    }
}
