import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

/// A server's end of a connection, whose client writes and reads the bytes of frames.
private final class Connection {
    /// A frame as it travels (RFC 9113, 4.1).
    struct Frame: Equatable {
        var type: Kind
        var flags: UInt8 = 0
        var stream: UInt32 = 0
        var payload: [UInt8] = []

        var bytes: [UInt8] {
            var bytes = ByteBuffer()
            bytes.writeBytes([
                UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 255),
                UInt8(payload.count & 255),
            ])
            bytes.writeMultipleIntegers(type.rawValue, flags, stream)
            bytes.writeBytes(payload)
            return Array(bytes.readableBytesView)
        }
    }

    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, credit, continuation
    }

    static let endsStream: UInt8 = 1
    static let endsHeaders: UInt8 = 4
    static let isPadded: UInt8 = 8
    static let request: HPACKHeaders = [
        ":method": "POST", ":scheme": "http", ":path": "/a/b", ":authority": "a",
        "content-type": "application/grpc",
    ]

    let channel = EmbeddedChannel()
    let server: Server
    private var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var received = ByteBuffer()

    /// What stands behind HTTP/2.
    final class Server: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        /// What it has heard, in words.
        var heard: [String] = []
        /// The data of each stream.
        var bodies: [Int: [UInt8]] = [:]
        /// Whether it credits the connection with what it receives.
        var credits = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            let id = Int(frame.streamID)
            switch frame.payload {
            case .headers(let headers):
                heard.append(
                    "\(id) \(headers.headers.first(name: ":path") ?? "trailers")"
                        + (headers.endStream ? "." : ""))
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { return }
                heard.append("\(id) \(bytes.readableBytes)" + (data.endStream ? "." : ""))
                bodies[id, default: []] += bytes.readableBytesView
                if credits, bytes.readableBytes > 0 {
                    let size = bytes.readableBytes
                    context.write(
                        wrapOutboundOut(
                            HTTP2Frame(
                                streamID: .rootStream,
                                payload: .windowUpdate(windowSizeIncrement: size))),
                        promise: nil)
                }
            case .ping(_, let isAnswer): heard.append(isAnswer ? "pong" : "ping")
            default: heard.append("another")
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let event = event as? StreamClosedEvent else { return }
            heard.append("\(Int(event.streamID)) ends \(event.reason?.networkCode ?? 0)")
        }
    }

    init(_ configure: (inout HTTP2Handler.Limits) -> Void = { _ in }) throws {
        var limits = HTTP2Handler.Limits()
        configure(&limits)
        server = Server()
        try channel.pipeline.syncOperations.addHandlers(HTTP2Handler(limits), server)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        say(.settings)
    }

    deinit {
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: The client

    func send(_ bytes: some Sequence<UInt8>) {
        // One that is closed hears nothing.
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func say(_ type: Kind, _ flags: UInt8 = 0, on stream: UInt32 = 0, payload: [UInt8] = []) {
        send(Frame(type: type, flags: flags, stream: stream, payload: payload).bytes)
    }

    func headers(_ headers: HPACKHeaders = Connection.request) throws -> [UInt8] {
        var bytes = ByteBuffer()
        try encoder.encode(headers: headers, to: &bytes)
        return Array(bytes.readableBytesView)
    }

    /// Begins a stream.
    func open(_ stream: UInt32, isWhole: Bool = false, length: Int? = nil) throws {
        let flags = Self.endsHeaders | (isWhole ? Self.endsStream : 0)
        var all = Self.request
        if let length { all.add(name: "content-length", value: "\(length)") }
        say(.headers, flags, on: stream, payload: try headers(all))
    }

    /// The server ends a stream.
    func reset(_ stream: HTTP2StreamID) {
        _ = write(.rstStream(.noError), on: stream)
        channel.flush()
    }

    /// Lets the server send so much more.
    func credit(_ size: UInt32, on stream: UInt32) {
        say(.credit, on: stream, payload: withUnsafeBytes(of: size.bigEndian, Array.init))
    }

    /// The frames that have been sent since this was asked last, without acknowledgements.
    func frames() throws -> [Frame] {
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            received.writeImmutableBuffer(bytes)
        }
        var frames: [Frame] = []
        while let head = received.getBytes(at: received.readerIndex, length: 9) {
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            received.moveReaderIndex(forwardBy: 9)
            let stream = head[5...8].reduce(0) { $0 << 8 | UInt32($1) }
            let payload = received.readBytes(length: length)
            frames.append(
                Frame(
                    type: try #require(Kind(rawValue: head[3])), flags: head[4], stream: stream,
                    payload: try #require(payload)))
        }
        return frames.filter { $0.type != .settings }
    }

    /// What has been sent, in words: errors and sizes are numbers.
    func sent() throws -> [String] {
        try frames().map { frame in
            let end = frame.flags & Self.endsStream == 0 ? "" : "."
            let last = ByteBuffer(bytes: frame.payload.suffix(4)).getInteger(at: 0, as: UInt32.self)
            switch frame.type {
            case .headers:
                var bytes = ByteBuffer(bytes: frame.payload)
                let headers = try decoder.decodeHeaders(from: &bytes)
                return "\(frame.stream) " + headers.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
                    + end
            case .data: return "\(frame.stream) \(frame.payload.count)" + end
            case .reset: return "\(frame.stream) reset \(last ?? 0)"
            case .credit: return "\(frame.stream) credit \(last ?? 0)"
            case .goAway: return "go away \(frame.payload[7])"
            case .ping: return frame.flags & 1 == 0 ? "ping" : "pong"
            default: return "another"
            }
        }
    }

    // MARK: The server

    func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID) -> EventLoopFuture<
        Void
    > {
        channel.write(HTTP2Frame(streamID: stream, payload: payload))
    }

    func data(_ count: Int) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(ByteBuffer(repeating: 7, count: count))))
    }

    func answer(_ count: Int, on stream: HTTP2StreamID = 1) -> EventLoopFuture<Void> {
        _ = write(.headers(.init(headers: [":status": "200"])), on: stream)
        let sent = write(data(count), on: stream)
        _ = write(.headers(.init(headers: ["grpc-status": "0"], endStream: true)), on: stream)
        channel.flush()
        return sent
    }
}

@Suite("Server: HTTP/2")
struct HTTP2HandlerTests {
    @Test("Headers go out byte for byte, whatever those of the answer before were")
    func headersOut() throws {
        let all: [HPACKHeaders] = [
            [":status": "200", "a": "1", "b": "22"], [":status": "200", "a": "1", "b": ""],
            [":status": "200", "b": "22", "a": "1"], [":status": "415"],
            // Equal, as Swift compares text.
            [":status": "200", "name": "e\u{301}"], [":status": "200", "name": "\u{e9}"],
        ]
        let client = try Connection()
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
        let client = try Connection()
        typealias Frame = Connection.Frame
        var bytes =
            Frame(
                type: .headers, flags: Connection.endsHeaders, stream: 1,
                payload: try client.headers()
            ).bytes
            + Frame(type: .data, stream: 1, payload: [UInt8](repeating: 1, count: 20)).bytes
            // Three bytes between a length and padding.
            + Frame(
                type: .data, flags: Connection.endsStream | Connection.isPadded, stream: 1,
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
        let client = try Connection()
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

    @Test("No more is sent than the client has room for, and who writes hears when it is")
    func outbound() throws {
        let client = try Connection()
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

    @Test("What the connection does not take waits")
    func writability() throws {
        let client = try Connection()
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

    @Test("A client sends no more than it is told of, and is told of what is credited")
    func inbound() throws {
        let client = try Connection { $0.windowBytes = 100 }
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
        let client = try Connection()
        client.say(.ping, payload: [UInt8](0..<8))
        #expect(try client.frames() == [.init(type: .ping, flags: 1, payload: [UInt8](0..<8))])
        _ = client.write(.ping(HTTP2PingData(withInteger: 9), ack: false), on: .rootStream)
        client.channel.flush()
        let ping = try client.frames()
        #expect(ping == [.init(type: .ping, payload: [0, 0, 0, 0, 0, 0, 0, 9])])
        client.say(.ping, 1, payload: ping[0].payload)
        #expect(client.server.heard == ["ping", "pong"])
    }

    @Test("Either side ends a stream, and what is written to it afterwards fails")
    func resets() throws {
        let client = try Connection()
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

    @Test("What waits on a connection that ends fails")
    func closed() throws {
        let client = try Connection()
        client.say(.settings, payload: [0, 4, 0, 0, 0, 0])
        try client.open(1, isWhole: true)
        let sent = client.answer(1)
        try client.channel.close().wait()
        #expect(throws: ChannelError.self) { try sent.wait() }
    }

    @Test("A client that is told to go makes no more calls, and the connection ends with its last")
    func leaving() throws {
        let client = try Connection()
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
            (isPadded ? Connection.isPadded : 0) | (isLast ? Connection.endsStream : 0)
        return Connection.Frame(type: .data, flags: flags, stream: 1, payload: payload).bytes
    }

    /// A request of three frames on a stream, which is to be received as it is sent.
    private func expectRequest(on stream: UInt32, _ client: Connection, _ note: String) throws {
        try client.open(stream)
        client.say(.data, on: stream, payload: [2, 3])
        client.say(.data, on: stream, payload: [4])
        client.say(.data, Connection.endsStream, on: stream, payload: [5, 6])
        #expect(client.server.bodies[Int(stream)] == [2, 3, 4, 5, 6], "\(note)")
        #expect(client.server.heard.suffix(3) == ["\(stream) 2", "\(stream) 1", "\(stream) 2."])
    }

    @Test(
        "A frame that the server's reset cuts off, wherever, is of its stream alone",
        arguments: [false, true], [false, true])
    func cutByReset(isPadded: Bool, isLast: Bool) throws {
        let frame = Self.data(isPadded: isPadded, isLast: isLast)
        for cut in 0...frame.count {
            let client = try Connection()
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
            client.say(.data, Connection.endsStream, on: 3, payload: [9])
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
            let client = try Connection()
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
            let client = try Connection()
            try client.open(1, length: 21)
            // Everything in one read, so that the reset cannot be sent in between.
            let next = Connection.Frame(
                type: .data, flags: Connection.endsStream, stream: 3, payload: [2, 3])
            try client.open(3)
            client.send(frame.prefix(cut))
            client.send(Array(frame.dropFirst(cut)) + next.bytes)
            #expect(client.server.bodies == [3: [2, 3]], "\(cut)")
        }
    }

    @Test("Frames that are cut off take nothing of the connection's window for good")
    func windowOfCutFrames() throws {
        let client = try Connection()
        client.server.credits = true
        for number in 0..<40 as Range<UInt32> {
            let stream = 2 * number + 1
            try client.open(stream)
            let frame = Connection.Frame(
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

    // MARK: Clients that break rules

    @Test(
        "More streams at a time than allowed are refused; who knows better loses the connection",
        arguments: [false, true])
    func streams(isTold: Bool) throws {
        let client = try Connection { $0.streams = 2 }
        if isTold { client.say(.settings, 1) }
        for stream in [1, 3, 5] as [UInt32] { try client.open(stream) }
        #expect(try client.sent() == [isTold ? "go away 1" : "5 reset 7"])
        #expect(client.server.heard.prefix(2) == ["1 /a/b", "3 /a/b"])
        #expect(client.channel.isActive == !isTold)
    }

    @Test("Headers that are too large end their stream alone")
    func largeHeaders() throws {
        let client = try Connection { $0.headerBytes = 300 }
        var headers = Connection.request
        headers.add(name: "x", value: String(repeating: "x", count: 100))
        try client.say(.headers, 4, on: 1, payload: client.headers(headers))
        #expect(try client.sent() == ["1 reset 2"] && client.channel.isActive)
        try client.open(3)
        #expect(client.server.heard.last == "3 /a/b")
    }

    @Test("A client that takes back too many calls loses its connection")
    func takenBack() throws {
        let client = try Connection { $0.resets = 50 }
        for number in 0..<200 as Range<UInt32> where client.channel.isActive {
            try client.open(2 * number + 1)
            client.say(.reset, on: 2 * number + 1, payload: [0, 0, 0, 8])
            if number < 45 { #expect(client.channel.isActive) }
        }
        #expect(!client.channel.isActive)
    }

    /// What ends a connection, as a frame, and with what error.
    private static let broken: [(Connection.Frame, String?)] = [
        // Data of no stream; a credit of nothing; a setting out of bounds; a frame that is too
        // large; half a ping; a push.
        (.init(type: .data, stream: 1, payload: [1]), "go away 1"),
        (.init(type: .credit, payload: [0, 0, 0, 0]), "go away 1"),
        (.init(type: .settings, payload: [0, 4, 255, 255, 255, 255]), "go away 3"),
        (.init(type: .data, stream: 1, payload: [UInt8](repeating: 0, count: 16_385)), "go away 6"),
        (.init(type: .ping, payload: [1, 2, 3, 4]), "go away 6"),
        (.init(type: .push, flags: 4, stream: 1, payload: [0, 0, 0, 2]), "go away 1"),
        // Headers that cannot be read.
        (.init(type: .headers, flags: 4, stream: 1, payload: [0xff, 0xff]), "go away 9"),
    ]

    @Test("What breaks the rules ends the connection, which says why", arguments: 0..<7)
    func rules(number: Int) throws {
        let (frame, answer) = Self.broken[number]
        let client = try Connection()
        client.send(frame.bytes)
        #expect(try client.sent().last == answer)
        #expect(!client.channel.isActive)
    }

    @Test("Nothing that a client sends does harm")
    func fuzz() throws {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let client = try Connection { $0.resets = 20 }
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let stream = UInt32.random(in: 0...9, using: &random)
                var bytes = Connection.Frame(
                    type: .init(rawValue: .random(in: 0...9, using: &random)) ?? .data,
                    flags: [0, 1, 4, 5, 8, 0x25].randomElement(using: &random) ?? 0,
                    stream: stream,
                    payload: Bool.random(using: &random)
                        ? try client.headers()
                        : (0..<Int.random(in: 0...40, using: &random)).map { _ in
                            .random(in: 0...255, using: &random)
                        }
                ).bytes
                if Int.random(in: 0..<4, using: &random) == 0 {
                    let position = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[position] = .random(in: 0...255, using: &random)
                }
                client.send(bytes)
                if stream % 2 == 1 { _ = client.answer(50, on: HTTP2StreamID(Int(stream))) }
            }
            _ = try client.frames()
        }
    }
}
