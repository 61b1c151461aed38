import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

/// A server's end of a connection, whose client writes and reads the bytes of frames.
final class HTTP2Peer {
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

    /// The beginning of a connection.
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    convenience init(
        faults: Box<[HTTP2Fault]>? = nil,
        _ configure: (inout HTTP2Handler.Limits) -> Void = { _ in }
    ) throws {
        var limits = HTTP2Handler.Limits()
        configure(&limits)
        try self.init { channel, server in
            try channel.pipeline.syncOperations.addHandlers(
                HTTP2Handler(limits) { fault in faults?.withLock { $0.append(fault) } }, server)
        }
        send(Self.preface)
        say(.settings)
    }

    /// A connection whose handlers a closure adds, and whose client has sent nothing.
    init(_ add: (EmbeddedChannel, Server) throws -> Void) throws {
        server = Server()
        try add(channel, server)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit {
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: The client

    func send(_ bytes: some Sequence<UInt8>) {
        // A closed one receives nothing.
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func say(_ type: Kind, _ flags: UInt8 = 0, on stream: UInt32 = 0, payload: [UInt8] = []) {
        send(Frame(type: type, flags: flags, stream: stream, payload: payload).bytes)
    }

    func headers(_ headers: HPACKHeaders = HTTP2Peer.request) throws -> [UInt8] {
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
