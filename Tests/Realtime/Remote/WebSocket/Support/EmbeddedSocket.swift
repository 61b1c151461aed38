import LarderCore
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderSharedTestSupport
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderRealtimeWebSocket

/// A connection over an embedded channel, whose server is the test: it reads and writes bytes.
final class EmbeddedSocket {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let socket: SocketHandler
    private let events = Box<[ConnectionEvent]>([])
    private var unread: [UInt8] = []

    init(
        _ configuration: WebSocketConfiguration = WebSocketConfiguration(),
        lastSessionID: String? = nil
    ) throws {
        channel = EmbeddedChannel(loop: loop)
        let events = events
        socket = SocketHandler(loop, configuration) { event, _ in
            events.withLock { $0.append(event) }
        }
        let handshake = Handshake(
            endpoint: try #require(ServerEndpoint("db.example:9000", isEncrypted: false)),
            namespace: "demo", lastSessionID: lastSessionID, tls: nil, configuration: configuration)
        socket.start()
        try handshake.initialize(channel, socket)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 9000)).wait()
    }

    deinit {
        socket.close()
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// The events since the last call.
    func readEvents() -> [ConnectionEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// The bytes that the client sent since the last call.
    func readBytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
            bytes += buffer.readableBytesView
        }
        return bytes
    }

    func write(_ bytes: [UInt8]) throws {
        // Changes of the pipeline complete in the loop's next turns.
        defer { loop.run() }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    // MARK: HTTP

    /// The client's request for a WebSocket, and the answer that accepts it.
    func readRequest() throws -> (text: String, acceptance: [UInt8]) {
        let request = String(decoding: try readBytes(), as: UTF8.self)
        let key = try #require(
            request.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
        ).dropFirst("Sec-WebSocket-Key: ".count)
        let proof = PlainSHA1.base64(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        let answer = """
            HTTP/1.1 101 Switching Protocols\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Accept: \(proof)\r
            \r

            """
        return (request, Array(answer.utf8))
    }

    /// Accepts the client's request.
    ///
    /// - Parameter greeting: what follows the answer at once.
    /// - Returns: the request.
    @discardableResult
    func accept(greeting: [UInt8] = []) throws -> String {
        let (request, acceptance) = try readRequest()
        try write(acceptance + greeting)
        return request
    }

    // MARK: Frames

    static let hello = ServerMessage.hello(
        ServerHello(serverTimeMilliseconds: 5, host: "db.example:9000", sessionID: "s1"))

    /// The bytes of a server's frame.
    static func frame(
        _ payload: [UInt8], opcode: UInt8 = 1, isFinal: Bool = true
    ) -> [UInt8] {
        let head = (isFinal ? 0x80 : 0) | opcode
        let size = payload.count
        let length: [UInt8] =
            size < 126
            ? [UInt8(size)]
            : size < 65_536
                ? [126, UInt8(size >> 8), UInt8(size & 255)]
                : [127] + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
        return [head] + length + payload
    }

    func send(_ message: ServerMessage) throws {
        try write(Self.frame(message.text))
    }

    /// Opens the connection.
    func open() throws {
        try accept()
        try send(Self.hello)
        _ = readEvents()
    }

    /// The frames that the client sent since the last call, unmasked.
    func readFrames() throws -> [(opcode: UInt8, payload: [UInt8])] {
        unread += try readBytes()
        var frames: [(opcode: UInt8, payload: [UInt8])] = []
        while unread.count >= 2 {
            #expect(unread[1] & 0x80 != 0, "clients mask their frames")
            var (start, size) = (2, Int(unread[1] & 0x7f))
            if size >= 126 {
                let count = size == 126 ? 2 : 8
                size = unread[2..<2 + count].reduce(0) { $0 << 8 | Int($1) }
                start += count
            }
            let mask = Array(unread[start..<start + 4])
            let payload = unread[(start + 4)..<(start + 4 + size)].enumerated().map {
                $0.element ^ mask[$0.offset % 4]
            }
            frames.append((unread[0] & 15, payload))
            unread.removeFirst(start + 4 + size)
        }
        return frames
    }

    /// The texts of the frames that the client sent since the last call.
    func readTexts() throws -> [String] {
        try readFrames().filter { $0.opcode == 1 }.map {
            String(decoding: $0.payload, as: UTF8.self)
        }
    }
}
