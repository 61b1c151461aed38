import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

@Suite("HTTP/2")
struct HTTP2HandlerTests {
    @Test("Headers are sent byte for byte, independently of those of the previous response")
    func headersOut() throws {
        let all: [HPACKHeaders] = [
            [":status": "200", "a": "1", "b": "22"], [":status": "200", "a": "1", "b": ""],
            [":status": "200", "b": "22", "a": "1"], [":status": "415"],
            // Equal, as Swift compares text.
            [":status": "200", "name": "e\u{301}"], [":status": "200", "name": "\u{e9}"],
        ]
        let client = try HTTP2Peer()
        var stream = -1
        for (first, second) in all.flatMap({ first in all.map { (first, $0) } }) {
            for headers in [first, second, second] {
                stream += 2
                let trailers = HPACKHeaders(headers.dropFirst().map { ($0.name, $0.value) })
                try client.open(UInt32(stream), isWhole: true)
                _ = client.write(.headers(.init(headers: headers)), on: HTTP2StreamID(stream))
                _ = client.write(
                    .headers(.init(headers: trailers, endStream: true)), on: HTTP2StreamID(stream))
                client.channel.flush()
                let expected = [headers, trailers].enumerated().map { place, headers in
                    "\(stream) " + headers.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
                        + (place == 1 ? "." : "")
                }
                let sent = try client.sent()
                #expect(sent.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(sent)")
            }
        }
    }

    @Test("A request is heard and answered, however its bytes come", arguments: [1, 7, 1_000])
    func passes(size: Int) throws {
        let client = try HTTP2Peer()
        typealias Frame = HTTP2Peer.Frame
        var bytes =
            Frame(
                type: .headers, flags: HTTP2Peer.endsHeaders, stream: 1,
                payload: try client.headers()
            ).bytes
            + Frame(type: .data, stream: 1, payload: [UInt8](repeating: 1, count: 20)).bytes
            // Three bytes between a length and padding.
            + Frame(
                type: .data, flags: HTTP2Peer.endsStream | HTTP2Peer.isPadded, stream: 1,
                payload: [2, 1, 2, 3, 0, 0]
            ).bytes
        while !bytes.isEmpty {
            client.send(bytes.prefix(size))
            bytes.removeFirst(min(size, bytes.count))
        }
        #expect(client.server.heard == ["1 /a/b", "1 20", "1 3."])
        let sent = client.answer(5)
        #expect(try client.sent() == ["1 :status=200", "1 5", "1 grpc-status=0."])
        try sent.wait()
        #expect(client.server.heard.last == "1 ends 0")
    }

    @Test("An answer may be headers alone, or come bit by bit")
    func answers() throws {
        let client = try HTTP2Peer()
        for stream in [1, 3] as [UInt32] { try client.open(stream, isWhole: true) }
        _ = client.write(.headers(.init(headers: [":status": "415"], endStream: true)), on: 1)
        _ = client.write(.headers(.init(headers: [":status": "200"])), on: 3)
        client.channel.flush()
        #expect(try client.sent() == ["1 :status=415.", "3 :status=200"])
        for _ in 0..<2 {
            _ = client.write(client.data(3), on: 3)
            _ = client.write(client.data(4), on: 3)
            client.channel.flush()
            #expect(try client.sent() == ["3 7"])
        }
        _ = client.write(.headers(.init(headers: ["grpc-status": "0"], endStream: true)), on: 3)
        client.channel.flush()
        #expect(try client.sent().last == "3 grpc-status=0.")
    }

    @Test("Sending respects the client's window, and promises complete when data is sent")
    func outbound() throws {
        let client = try HTTP2Peer()
        client.say(.settings, payload: [0, 4, 0, 0, 0, 10])
        try client.open(1, isWhole: true)
        let sent = client.answer(25)
        let isSent = Box(false)
        sent.whenSuccess { isSent.withLock { $0 = true } }
        #expect(try client.sent() == ["1 :status=200", "1 10"])
        client.credit(10, on: 1)
        #expect(try client.sent() == ["1 10"] && !isSent.withLock { $0 })
        client.credit(10, on: 1)
        #expect(try client.sent() == ["1 5", "1 grpc-status=0."] && isSent.withLock { $0 })
    }

    @Test("Output waits while the channel is not writable")
    func writability() throws {
        let client = try HTTP2Peer()
        try client.open(1, isWhole: true)
        client.channel.isWritable = false
        client.channel.pipeline.fireChannelWritabilityChanged()
        let sent = client.answer(5)
        #expect(try client.sent().isEmpty)
        client.channel.isWritable = true
        client.channel.pipeline.fireChannelWritabilityChanged()
        #expect(try client.sent().count == 3)
        try sent.wait()
    }

    @Test("A client's window is enlarged only by credited data")
    func inbound() throws {
        let client = try HTTP2Peer { $0.windowBytes = 100 }
        client.say(.settings, 1)
        try client.open(1)
        client.say(.data, on: 1, payload: [UInt8](repeating: 1, count: 100))
        #expect(try client.sent().isEmpty)
        _ = client.write(.windowUpdate(windowSizeIncrement: 60), on: 1)
        client.channel.flush()
        #expect(try client.sent() == ["1 credit 60"])
        client.say(.data, on: 1, payload: [UInt8](repeating: 1, count: 60))
        #expect(client.server.heard.last == "1 60")
        client.say(.data, on: 1, payload: [1])
        #expect(try client.sent() == ["1 reset 3"])
        #expect(client.server.heard.last == "1 ends 3" && client.channel.isActive)
    }

    @Test("Pings are answered, and both sides' heard of")
    func pings() throws {
        let client = try HTTP2Peer()
        client.say(.ping, payload: [UInt8](0..<8))
        #expect(try client.frames() == [.init(type: .ping, flags: 1, payload: [UInt8](0..<8))])
        _ = client.write(.ping(HTTP2PingData(withInteger: 9), ack: false), on: .rootStream)
        client.channel.flush()
        let ping = try client.frames()
        #expect(ping == [.init(type: .ping, payload: [0, 0, 0, 0, 0, 0, 0, 9])])
        client.say(.ping, 1, payload: ping[0].payload)
        #expect(client.server.heard == ["ping", "pong"])
    }

    @Test("Either side can end a stream, and later writes fail")
    func resets() throws {
        let client = try HTTP2Peer()
        for stream in [1, 3] as [UInt32] { try client.open(stream) }
        client.say(.reset, on: 1, payload: [0, 0, 0, 8])
        _ = client.write(.rstStream(.noError), on: 3)
        client.channel.flush()
        #expect(try client.sent() == ["3 reset 0"])
        #expect(client.server.heard.suffix(2) == ["1 ends 8", "3 ends 0"])
        for stream in [1, 3, 5] as [HTTP2StreamID] {
            let sent = client.answer(1, on: stream)
            #expect(throws: ChannelError.self) { try sent.wait() }
        }
        #expect(try client.sent().isEmpty && client.channel.isActive)
    }

    @Test("Pending writes fail when the connection ends")
    func closed() throws {
        let client = try HTTP2Peer()
        client.say(.settings, payload: [0, 4, 0, 0, 0, 0])
        try client.open(1, isWhole: true)
        let sent = client.answer(1)
        try client.channel.close().wait()
        #expect(throws: ChannelError.self) { try sent.wait() }
    }

    @Test("After GOAWAY a client begins no calls, and the connection ends with its last")
    func leaving() throws {
        let client = try HTTP2Peer()
        try client.open(1, isWhole: true)
        _ = client.write(
            .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil), on: .rootStream)
        client.channel.flush()
        try client.open(3, isWhole: true)
        _ = client.write(
            .goAway(lastStreamID: 3, errorCode: .noError, opaqueData: nil), on: .rootStream)
        client.channel.flush()
        #expect(try client.sent() == ["go away 0", "go away 0"])
        try client.open(5, isWhole: true)
        #expect(client.server.heard == ["1 /a/b.", "3 /a/b."])
        _ = client.answer(1, on: 1)
        #expect(client.channel.isActive)
        _ = client.answer(1, on: 3)
        #expect(!client.channel.isActive)
    }

    // MARK: Streams that end within a frame

    /// A data frame of ones on stream 1, with padding or without.
    private static func data(isPadded: Bool, isLast: Bool) -> [UInt8] {
        let payload: [UInt8] =
            (isPadded ? [3] : []) + [UInt8](repeating: 1, count: 20) + (isPadded ? [0, 0, 0] : [])
        let flags =
            (isPadded ? HTTP2Peer.isPadded : 0) | (isLast ? HTTP2Peer.endsStream : 0)
        return HTTP2Peer.Frame(type: .data, flags: flags, stream: 1, payload: payload).bytes
    }

    /// A request of three frames on a stream, which is to be received as it is sent.
    private func expectRequest(on stream: UInt32, _ client: HTTP2Peer, _ note: String) throws {
        try client.open(stream)
        client.say(.data, on: stream, payload: [2, 3])
        client.say(.data, on: stream, payload: [4])
        client.say(.data, HTTP2Peer.endsStream, on: stream, payload: [5, 6])
        #expect(client.server.bodies[Int(stream)] == [2, 3, 4, 5, 6], "\(note)")
        #expect(client.server.heard.suffix(3) == ["\(stream) 2", "\(stream) 1", "\(stream) 2."])
    }

    @Test(
        "A frame that the server's reset cuts off, wherever, is of its stream alone",
        arguments: [false, true], [false, true])
    func cutByReset(isPadded: Bool, isLast: Bool) throws {
        let frame = Self.data(isPadded: isPadded, isLast: isLast)
        for cut in 0...frame.count {
            let client = try HTTP2Peer()
            try client.open(1)
            try client.open(3)
            client.send(frame.prefix(cut))
            client.reset(1)
            client.send(frame.dropFirst(cut))
            let isWhole = cut == frame.count
            #expect(
                client.server.bodies[1] == (isWhole ? [UInt8](repeating: 1, count: 20) : nil),
                "\(cut)")
            // Of a stream that was open already, and of a later one.
            client.say(.data, HTTP2Peer.endsStream, on: 3, payload: [9])
            #expect(client.server.bodies[3] == [9], "\(cut)")
            try expectRequest(on: 5, client, "\(cut)")
            #expect(client.channel.isActive)
        }
    }

    @Test(
        "A frame that exceeds the announced length, cut anywhere, is of its stream alone",
        arguments: [0, 1, 10, 19], [false, true])
    func cutByLength(length: Int, isPadded: Bool) throws {
        let frame = Self.data(isPadded: isPadded, isLast: false)
        for cut in 0...frame.count {
            let client = try HTTP2Peer()
            try client.open(1, length: length)
            client.send(frame.prefix(cut))
            client.send(frame.dropFirst(cut))
            #expect(client.server.bodies[1] == nil, "\(cut)")
            #expect(client.server.heard.last == "1 ends 1", "\(cut)")
            try expectRequest(on: 3, client, "\(cut)")
            #expect(client.channel.isActive)
        }
    }

    @Test("A request that ends before its announced length leaves nothing to the next")
    func tooShort() throws {
        let frame = Self.data(isPadded: false, isLast: true)
        for cut in 0...frame.count {
            let client = try HTTP2Peer()
            try client.open(1, length: 21)
            // Everything in one read, so that the reset cannot be sent in between.
            let next = HTTP2Peer.Frame(
                type: .data, flags: HTTP2Peer.endsStream, stream: 3, payload: [2, 3])
            try client.open(3)
            client.send(frame.prefix(cut))
            client.send(Array(frame.dropFirst(cut)) + next.bytes)
            #expect(client.server.bodies == [3: [2, 3]], "\(cut)")
        }
    }

    @Test("Frames that are cut off take nothing of the connection's window for good")
    func windowOfCutFrames() throws {
        let client = try HTTP2Peer()
        client.server.credits = true
        for number in 0..<40 as Range<UInt32> {
            let stream = 2 * number + 1
            try client.open(stream)
            let frame = HTTP2Peer.Frame(
                type: .data, stream: stream, payload: [UInt8](repeating: 1, count: 16_000)
            ).bytes
            client.send(frame.prefix(12_000))
            client.reset(HTTP2StreamID(Int(stream)))
            client.send(frame.dropFirst(12_000))
            #expect(client.channel.isActive, "\(number)")
        }
        try expectRequest(on: 81, client, "the last")
        // The client may have as much on its way as at the beginning.
        let credit = try client.frames().filter { $0.type == .credit && $0.stream == 0 }
            .reduce(0) { $0 + Int(ByteBuffer(bytes: $1.payload).getInteger(at: 0) ?? 0 as UInt32) }
        #expect(40 * 16_000 - credit < 65_535 / 2 + 16_000)
    }
}
