import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

/// A connection above HTTP/2 whose client and whose streams are the test's.
private final class Peer {
    typealias Frame = HTTP2Frame.FramePayload

    /// A stream that does nothing by itself.
    final class Stream: HTTP2StreamHandler {
        private(set) var isClosed = false

        func begin(_ headers: HPACKHeaders, isWhole: Bool) {}
        func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {}
        func close() { isClosed = true }
        var heldBytes: Int { 0 }
        func refuse(_ cause: StreamRefusal) {}
        func resume() {}
        func proceed() {}
    }

    let channel = EmbeddedChannel()
    private(set) var streams: [HTTP2StreamID: Stream] = [:]
    private(set) var connection: HTTP2Connection?

    init(
        keepaliveInterval: Duration = .seconds(60), keepaliveTimeout: Duration = .seconds(20)
    ) throws {
        let limits = HTTP2Connection.Limits(
            streams: 100, resets: 100, keepaliveInterval: keepaliveInterval,
            keepaliveTimeout: keepaliveTimeout, pingInterval: .seconds(5))
        try channel.pipeline.syncOperations.addHandler(
            HTTP2Connection(limits, on: channel.embeddedEventLoop) {
                [unowned self] _, id, connection, _ in
                let stream = Stream()
                (streams[id], self.connection) = (stream, connection)
                return stream
            })
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    func advance(by time: TimeAmount) {
        channel.embeddedEventLoop.advanceTime(by: time)
    }

    func receive(_ payload: Frame, on id: HTTP2StreamID = .rootStream) throws {
        try channel.writeInbound(HTTP2Frame(streamID: id, payload: payload))
        // As the HTTP/2 handler does at the end of a read.
        channel.flush()
        channel.embeddedEventLoop.run()
    }

    func open(_ id: HTTP2StreamID) throws {
        try receive(.headers(.init(headers: [":path": "/"])), on: id)
    }

    func fire(_ event: any Sendable) {
        channel.pipeline.fireUserInboundEventTriggered(event)
        channel.embeddedEventLoop.run()
    }

    /// The frames sent since the last call.
    func sent() throws -> [(id: HTTP2StreamID, payload: Frame)] {
        var frames: [(id: HTTP2StreamID, payload: Frame)] = []
        while let frame = try channel.readOutbound(as: HTTP2Frame.self) {
            frames.append((frame.streamID, frame.payload))
        }
        return frames
    }

    func sentPings() throws -> [HTTP2PingData] { try sent().compactMap { $0.payload.ping } }
}

extension HTTP2Frame.FramePayload {
    fileprivate var ping: HTTP2PingData? {
        if case .ping(let data, ack: false) = self { data } else { nil }
    }

    /// A control frame in words; error codes are those of RFC 9113.
    fileprivate var text: String {
        switch self {
        case .rstStream(let code): "reset \(code.networkCode)"
        case .goAway(let last, let code, let data):
            "go away \(code.networkCode) after \(Int(last)) \(data.map { String(buffer: $0) } ?? "")"
        case .ping(_, let ack): ack ? "pong" : "ping"
        default: "another"
        }
    }
}

@Suite("HTTP/2 connection")
struct HTTP2ConnectionTests {
    @Test("a silent client is pinged, and disconnected without an answer")
    func silence() throws {
        let client = try Peer()
        client.advance(by: .seconds(59))
        #expect(try client.sent().isEmpty)
        client.advance(by: .seconds(1))
        let pings = try client.sentPings()
        #expect(pings.count == 1)
        client.advance(by: .seconds(19))
        try client.receive(.ping(try #require(pings.first), ack: true))
        client.advance(by: .seconds(60))
        #expect(try client.sentPings().count == 1)
        client.advance(by: .seconds(19))
        #expect(client.channel.isActive)
        client.advance(by: .seconds(1))
        #expect(!client.channel.isActive)
    }

    @Test("the largest durations disable keepalive")
    func unlimited() throws {
        let client = try Peer(
            keepaliveInterval: .seconds(Int64.max), keepaliveTimeout: .seconds(Int64.max))
        client.advance(by: .hours(1_000))
        #expect(try client.sent().isEmpty && client.channel.isActive)
        let keepalive = Keepalive(
            interval: .nanoseconds(1), timeout: .seconds(Int64.max), now: .uptimeNanoseconds(5))
        #expect(
            keepalive.action(at: .uptimeNanoseconds(7)) == .ping(.nanoseconds(Int64.max - 2)))
    }

    @Test("a client that pings too often is sent GOAWAY and disconnected")
    func pings() throws {
        let client = try Peer()
        let ping = HTTP2Frame.FramePayload.ping(HTTP2PingData(withInteger: 7), ack: false)
        for _ in 0..<10 {
            client.advance(by: .seconds(5))
            try client.receive(ping)
        }
        // Two pings too soon are allowed; a write of the server resets their count.
        for _ in 0..<2 { try client.receive(ping) }
        try client.open(1)
        client.connection?.write(.headers(.init(headers: [":status": "200"])), on: 1)
        for _ in 0..<3 { try client.receive(ping) }
        #expect(client.channel.isActive)
        try client.receive(ping)
        #expect(!client.channel.isActive)
        #expect(try client.sent().last?.payload.text == "go away 11 after 1 too_many_pings")
    }

    @Test("a stopping server waits for open streams, including those opened before its GOAWAY")
    func leaving() throws {
        let client = try Peer()
        try client.open(1)
        _ = try client.sent()
        client.fire(ChannelShouldQuiesceEvent())
        let frames = try client.sent().map(\.payload)
        #expect(frames.map(\.text) == ["go away 0 after \(Int32.max) ", "ping"])
        let ping = try #require(frames.compactMap(\.ping).first)
        try client.open(3)
        try client.receive(.ping(ping, ack: true))
        #expect(try client.sent().map(\.payload.text) == ["go away 0 after 3 "])
        for id in [1, 3] as [HTTP2StreamID] {
            #expect(client.channel.isActive && client.streams[id]?.isClosed == false)
            client.fire(StreamClosedEvent(streamID: id, reason: nil))
            #expect(client.streams[id]?.isClosed == true)
        }
        #expect(!client.channel.isActive)
    }

    @Test("an idle connection of a stopping server closes when its client has acknowledged")
    func leavingIdle() throws {
        let client = try Peer()
        client.fire(ChannelShouldQuiesceEvent())
        let ping = try #require(try client.sentPings().first)
        #expect(client.channel.isActive)
        try client.receive(.ping(ping, ack: true))
        #expect(!client.channel.isActive)
    }

    @Test("headers in a request that end nothing reset its stream, and no other")
    func headersInRequest() throws {
        let client = try Peer()
        for id in [1, 3] as [HTTP2StreamID] { try client.open(id) }
        _ = try client.sent()
        try client.open(1)
        let sent = try client.sent()
        #expect(sent.map(\.id) == [1] && sent.map(\.payload.text) == ["reset 1"])
        #expect(client.channel.isActive)
    }

    @Test("a stream is closed once when its connection ends")
    func ends() throws {
        let client = try Peer()
        try client.open(1)
        try client.channel.close().wait()
        #expect(client.streams[1]?.isClosed == true)
    }

    @Test("an error of the connection closes it")
    func errors() throws {
        let client = try Peer()
        client.channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        client.channel.embeddedEventLoop.run()
        #expect(!client.channel.isActive)
    }
}
