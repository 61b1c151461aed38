import LarderCore
import LarderSharedTestSupport
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import LarderHTTP

/// A session that a test drives.
final class TestSession: WebSocketSession {
    var received: [String] = []
    var others = 0
    var outputs: [WebSocketOutput] = []
    var wantsInput = true
    var heldBytes = 0
    var keptBytes = 0
    var deadline: NIODeadline?
    var deadlines = 0
    var ends = 0
    private var wake: () -> Void = {}

    func begin(_ memory: MemoryAccount, _ wake: @escaping () -> Void) { self.wake = wake }
    func receive(_ text: [UInt8]) { received.append(String(decoding: text, as: UTF8.self)) }
    func receiveOther() { others += 1 }
    func next() -> WebSocketOutput? { outputs.isEmpty ? nil : outputs.removeFirst() }

    func reachDeadline() {
        deadlines += 1
        deadline = nil
    }

    func close() {
        ends += 1
        wake = {}
    }

    func send(_ outputs: [WebSocketOutput]) {
        self.outputs += outputs
        wake()
    }
}

@Suite("WebSockets")
struct WebSocketHandlerTests {
    private let server = HTTPTestServer()
    private let session = TestSession()

    /// A connection after its handshake.
    private func open() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(
            WebSocketFrameEncoder(),
            ByteToMessageHandler(
                WebSocketFrameDecoder(maxFrameSize: WebSocketHandler.frameBytes)),
            WebSocketHandler(session, server.ledger, writeTime: .seconds(30)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// Closes a connection, whose handlers are removed in a turn of its loop.
    private func close(_ channel: EmbeddedChannel) throws {
        try channel.close().wait()
        channel.embeddedEventLoop.run()
    }

    private func sentBytes(_ channel: EmbeddedChannel) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try channel.readOutbound(as: ByteBuffer.self) {
            bytes += Array(part.readableBytesView)
        }
        return bytes
    }

    private func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> ByteBuffer {
        let mask: [UInt8] = [7, 77, 177, 250]
        var frame = [first]
        if payload.count < 126 {
            frame.append((isMasked ? 0x80 : 0) | UInt8(payload.count))
        } else if payload.count < 65_536 {
            frame += [(isMasked ? 0x80 : 0) | 126, UInt8(payload.count >> 8)]
            frame.append(UInt8(payload.count & 255))
        } else {
            frame.append((isMasked ? 0x80 : 0) | 127)
            frame += (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 255) }
        }
        if isMasked { frame += mask }
        frame += payload.enumerated().map { isMasked ? $1 ^ mask[$0 % 4] : $1 }
        return ByteBuffer(bytes: frame)
    }

    @Test("text arrives at the session, in one frame or in fragments, and is sent to the client")
    func text() throws {
        let channel = try open()
        try channel.writeInbound(frame(0x81, Array("one".utf8)))
        try channel.writeInbound(frame(0x01, Array("t".utf8)))
        try channel.writeInbound(frame(0x89, []))
        try channel.writeInbound(frame(0x00, Array("w".utf8)))
        try channel.writeInbound(frame(0x80, Array("o".utf8)))
        try channel.writeInbound(frame(0x82, [1, 2]))
        #expect(session.received == ["one", "two"] && session.others == 2)
        #expect(try sentBytes(channel) == [0x8a, 0])
        session.send([.text(Array("abc".utf8)[...]), .text([])])
        #expect(try sentBytes(channel) == [0x81, 3, 97, 98, 99, 0x81, 0])
        try close(channel)
        #expect(session.ends == 1 && server.ledger.heldBytes == 0)
    }

    @Test(
        "a client that violates the protocol is told so and disconnected",
        arguments: [
            ("unmasked", 1002), ("reserved bit", 1002), ("unknown opcode", 1002),
            ("continuation of nothing", 1002), ("text within fragments", 1002),
            ("fragmented ping", 1002), ("long ping", 1002), ("long frame", 1009),
            ("long message", 1009), ("absurd length", 1009), ("no UTF-8", 1007),
            ("no UTF-8 in fragments", 1007),
        ] as [(String, Int)])
    func violations(kind: String, code: Int) throws {
        let channel = try open()
        let half = [UInt8](repeating: 97, count: 40_000)
        switch kind {
        case "unmasked": _ = try? channel.writeInbound(frame(0x81, [97], isMasked: false))
        case "reserved bit": _ = try? channel.writeInbound(frame(0xc1, [97]))
        case "unknown opcode": _ = try? channel.writeInbound(frame(0x83, [97]))
        case "continuation of nothing": _ = try? channel.writeInbound(frame(0x80, [97]))
        case "text within fragments":
            try channel.writeInbound(frame(0x01, [97]))
            _ = try? channel.writeInbound(frame(0x81, [97]))
        case "fragmented ping": _ = try? channel.writeInbound(frame(0x09, []))
        case "long ping": _ = try? channel.writeInbound(frame(0x89, half))
        case "long frame": _ = try? channel.writeInbound(frame(0x81, half + half))
        case "no UTF-8": _ = try? channel.writeInbound(frame(0x81, [0x61, 0xff]))
        case "no UTF-8 in fragments":
            try channel.writeInbound(frame(0x01, [0xed]))
            _ = try? channel.writeInbound(frame(0x80, [0xa0, 0x80]))
        case "long message":
            try channel.writeInbound(frame(0x01, half))
            _ = try? channel.writeInbound(frame(0x80, half))
        default:
            _ = try? channel.writeInbound(
                ByteBuffer(bytes: [0x81, 0xff] + [UInt8](repeating: 0xff, count: 12)))
        }
        #expect(try sentBytes(channel) == [0x88, 2, UInt8(code >> 8), UInt8(code & 255)])
        #expect(session.received.isEmpty)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive && session.ends == 1)
    }

    @Test("frames that bring nothing are bounded by the second")
    func tinyFrames() throws {
        let channel = try open()
        for second in 0..<3 {
            for number in 0..<WebSocketHandler.maxTinyFrames {
                try channel.writeInbound(number % 2 == 0 ? frame(0x01, []) : frame(0x80, [97]))
            }
            #expect(channel.isActive, "second \(second)")
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(session.received.count == 3 * WebSocketHandler.maxTinyFrames / 2)
        for _ in 0...2 * WebSocketHandler.maxTinyFrames {
            _ = try? channel.writeInbound(frame(0x8a, []))
        }
        _ = try? channel.writeInbound(frame(0x8a, []))
        #expect(try sentBytes(channel) == [0x88, 2, 3, 240])
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive)
    }

    @Test("what a session holds and an unfinished message are charged until the end")
    func held() throws {
        let channel = try open()
        session.heldBytes = 9_000
        try channel.writeInbound(frame(0x01, [UInt8](repeating: 97, count: 30_000)))
        #expect(server.ledger.heldBytes == 39_000)
        try close(channel)
        #expect(server.ledger.heldBytes == 0)
    }

    @Test("a character in two fragments, and a frame of the largest size, are received")
    func wholeText() throws {
        let channel = try open()
        try channel.writeInbound(frame(0x01, [0xc3]))
        try channel.writeInbound(frame(0x80, [0xa9]))
        let largest = [UInt8](repeating: 97, count: WebSocketHandler.frameBytes)
        try channel.writeInbound(frame(0x81, largest))
        #expect(session.received == ["é", String(decoding: largest, as: UTF8.self)])
        #expect(try sentBytes(channel) == [])
        try close(channel)
    }

    /// The ends of clients, and the codes of the answers.
    private static let ends: [([UInt8], Int)] = [
        ([3, 232], 1000), ([3, 233] + Array("bye".utf8), 1001), ([], 1000), ([3, 239], 1007),
        ([11, 184], 3000), ([19, 135], 4999),
        // Codes that no client may send, a code cut off, and a reason that is no UTF-8.
        ([0, 0], 1002), ([3, 231], 1002), ([3, 236], 1002), ([3, 237], 1002), ([3, 238], 1002),
        ([3, 247], 1002), ([7, 207], 1002), ([19, 136], 1002), ([3], 1002), ([3, 232, 0xff], 1002),
    ]

    @Test("the client's end is answered with its code, or as a violation", arguments: ends)
    func clientEnds(end: [UInt8], code: Int) throws {
        let channel = try open()
        try channel.writeInbound(frame(0x88, end))
        #expect(try sentBytes(channel) == [0x88, 2, UInt8(code >> 8), UInt8(code & 255)])
        #expect(!channel.isActive && session.ends == 1)
    }

    @Test("the end of a session is sent after its last text, and waits for the client's")
    func sessionEnds() throws {
        let channel = try open()
        session.send([.text([97]), .close])
        #expect(try sentBytes(channel) == [0x81, 1, 97, 0x88, 2, 3, 233])
        try channel.writeInbound(frame(0x81, [97]))
        #expect(channel.isActive && session.received.isEmpty)
        try channel.writeInbound(frame(0x88, [3, 233]))
        #expect(!channel.isActive && session.ends == 1)
    }

    @Test(
        "a client that takes nothing is disconnected after 30 seconds, and sent no more meanwhile")
    func slow() throws {
        let channel = try open()
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        session.send([.text([97])])
        #expect(session.outputs.count == 1)
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive && session.ends == 1)
    }

    @Test("a client that takes something again is sent the rest")
    func resumes() throws {
        let channel = try open()
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        session.send([.text([97])])
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(try sentBytes(channel) == [0x81, 1, 97])
        channel.embeddedEventLoop.advanceTime(by: .seconds(40))
        #expect(channel.isActive)
        try close(channel)
    }

    @Test("what waits for a client is charged; at the limit the largest client is disconnected")
    func memory() throws {
        let channel = try open()
        session.heldBytes = 600_000
        session.send([])
        #expect(server.ledger.heldBytes == 600_000)
        let other = server.ledger.open { $0() }
        other.change(by: 500_000)
        channel.embeddedEventLoop.run()
        #expect(!channel.isActive && session.ends == 1)
        other.close()
        #expect(server.ledger.heldBytes == 0)
    }

    @Test("the session's deadlines are met")
    func deadlines() throws {
        let channel = try open()
        session.deadline = channel.eventLoop.now + .seconds(10)
        session.send([])
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(session.deadlines == 0)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(session.deadlines == 1 && channel.isActive)
        try close(channel)
    }
}

/// A session that sends back what it receives.
private final class EchoSession: WebSocketSession {
    private var outputs: [WebSocketOutput] = []
    private let ends: Box<Int>

    init(ends: Box<Int>) { self.ends = ends }

    let wantsInput = true
    let heldBytes = 0
    let keptBytes = 0
    let deadline: NIODeadline? = nil

    func begin(_ memory: MemoryAccount, _ wake: @escaping () -> Void) {}
    func receive(_ text: [UInt8]) { outputs.append(.text(text[...])) }
    func receiveOther() {}
    func next() -> WebSocketOutput? { outputs.isEmpty ? nil : outputs.removeFirst() }
    func reachDeadline() {}
    func close() { ends.withLock { $0 += 1 } }
}

@Suite("WebSockets: handshakes")
struct WebSocketHandshakeTests {
    private let server = HTTPTestServer()
    private let ends = Box(0)
    private let openers = Box<[String?]>([])

    private func connect(accepts: Bool) async throws -> NIOAsyncTestingChannel {
        let (ledger, respond, ends, openers) = (server.ledger, server.respond, ends, openers)
        let accept: WebSocketAcceptance = { _ in
            openers.withLock { $0.append(CallOrigin.current?.connection.address) }
            guard accepts else { return nil }
            return { _ in EchoSession(ends: ends) }
        }
        let channel = try await NIOAsyncTestingChannel { channel in
            try HTTP1Handler.add(to: channel, .ofTests(), ledger, webSockets: accept, respond)
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        return channel
    }

    private let request = """
        GET /.ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """

    /// The bytes that are sent until they end with others.
    private func sent(
        _ channel: NIOAsyncTestingChannel, until end: [UInt8]
    ) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while !bytes.suffix(end.count).elementsEqual(end) {
            await channel.testingEventLoop.run()
            while let part = try await channel.readOutbound(as: ByteBuffer.self) {
                bytes += Array(part.readableBytesView)
            }
            await Task.yield()
        }
        return bytes
    }

    @Test("a request becomes a WebSocket; bytes after it are frames")
    func accepted() async throws {
        let channel = try await connect(accepts: true)
        // "a" with a mask of zeros.
        let frame: [UInt8] = [0x81, 0x81, 0, 0, 0, 0, 97]
        try await channel.writeInbound(ByteBuffer(bytes: Array(request.utf8) + frame))
        let bytes = try await sent(channel, until: [0x81, 1, 97])
        let head = String(decoding: bytes, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 101 "))
        // The value of RFC 6455, 1.3.
        #expect(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
        try await channel.close()
        #expect(ends.withLock { $0 } == 1 && server.ledger.heldBytes == 0)
        // What is opened for it counts for its client.
        #expect(openers.withLock { $0 } == ["127.0.0.1"])
    }

    @Test("a WebSocket that is refused is answered as a request, and the connection closed")
    func refused() async throws {
        let channel = try await connect(accepts: false)
        try await channel.writeInbound(ByteBuffer(string: request))
        while !server.hasRequest {
            await channel.testingEventLoop.run()
            await Task.yield()
        }
        let (request, reply) = try #require(await server.next())
        #expect(request.path == "/.ws")
        await reply.send(.failure(403, "no"))
        let bytes = try await sent(channel, until: Array("\n".utf8))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 403 ") && text.contains("connection: close\r\n"))
        while channel.isActive { await channel.testingEventLoop.run() }
        #expect(ends.withLock { $0 } == 0)
    }
}
