import LarderCore
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

/// Random frames against the whole of HTTP/2, whose streams behave at random, too.
@Suite("HTTP/2: random frames")
struct HTTP2FuzzTests {
    @Test("Any frames in any pieces break nothing but their connection, and leave nothing behind")
    func frames() async throws {
        try await FuzzRun("frames of HTTP/2", count: 200)() { random in
            let fuzzed = try FuzzedConnection(&random)
            defer { fuzzed.end() }
            try fuzzed.converse(&random)
        }
    }
}

/// A connection with a random client.
private final class FuzzedConnection {
    /// What it is random about, besides the client.
    private final class Server {
        var random: SeededRandom
        var streams: [FuzzedStream] = []
        weak var connection: HTTP2Connection?

        init(_ random: SeededRandom) {
            self.random = random
        }
    }

    private static let fields: [(name: String, value: String)] = [
        (":method", "POST"), (":scheme", "http"), (":path", "/a/b"), (":authority", "a"),
        ("content-type", "application/grpc"), ("te", "trailers"),
    ]

    private let channel = EmbeddedChannel()
    private let server: Server
    private let ledger: MemoryLedger
    private let faults = Box<[HTTP2Fault]>([])
    private var output = HTTP2Output()
    private var hasGoneAway = false

    init(_ random: inout SeededRandom) throws {
        let server = Server(SeededRandom(seed: random.next()))
        self.server = server
        ledger = MemoryLedger(limit: random.pick([20_000, 300_000, 100 << 20]))
        let limits = HTTP2Connection.Limits(
            streams: random.pick([1, 4, 100]), resets: 100, keepaliveInterval: .seconds(60),
            keepaliveTimeout: .seconds(20), pingInterval: .seconds(5))
        try HTTP2Connection.add(
            to: channel, limits, ledger,
            report: { [faults] fault in faults.withLock { $0.append(fault) } }
        ) { _, id, connection, loop in
            server.connection = connection
            let stream = FuzzedStream(
                id, connection, loop, SeededRandom(seed: server.random.next()))
            server.streams.append(stream)
            return stream
        }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func end() {
        server.streams = []
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    func converse(_ random: inout SeededRandom) throws {
        var script = HTTP2Script(&random, streams: 8) { random in
            var fields = Self.fields
            if random.oneIn(6) { fields.append(("x-long", String(repeating: "v", count: 200))) }
            let body = (0..<random.pick([0, 1, 5, 100, 3_000])).map { number in
                number.isMultiple(of: 2) ? 0x80 : UInt8(number & 0x7f)
            }
            if random.oneIn(8) {
                fields.append(("content-length", "\(body.count + random.below(3) - 1)"))
            }
            return HTTP2Script.Request(fields: fields, body: body)
        }
        let kind = random.below(4)
        if kind > 0 { script.mutate(&random) }
        var bytes = script.bytes
        if kind == 3 { random.damage(&bytes) }
        for piece in random.cut(bytes) {
            try send(piece)
            if random.oneIn(40) { try happen(&random) }
        }
        // Damaged bytes may leave an incomplete frame, which takes up the next one.
        if kind < 3 { try probe(script) }
        try close(&random, isTagged: kind < 3)
    }

    private func send(_ bytes: some Sequence<UInt8>) throws {
        // A closed one receives nothing.
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        channel.embeddedEventLoop.run()
        try receive()
    }

    private func receive() throws {
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            for frame in try output.receive(bytes.readableBytesView)
            where frame.type == HTTP2Script.goAway {
                hasGoneAway = true
            }
        }
    }

    /// Something besides the client's frames.
    private func happen(_ random: inout SeededRandom) throws {
        switch random.below(5) {
        case 0: channel.embeddedEventLoop.advanceTime(by: .seconds(Int64(random.below(40))))
        case 1:
            channel.isWritable.toggle()
            channel.pipeline.fireChannelWritabilityChanged()
        case 2 where random.oneIn(4):
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        default: channel.embeddedEventLoop.advanceTime(by: .milliseconds(Int64(random.below(9))))
        }
        try receive()
    }

    /// A valid request is served as if nothing had been before, unless the connection ends.
    private func probe(_ script: HTTP2Script) throws {
        if !channel.isWritable {
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
        let number = HTTP2StreamID(Int(script.nextStream))
        try send(script.probe(Self.fields))
        if !channel.isActive || hasGoneAway { return }
        // Others may occupy all places.
        guard let stream = server.streams.last(where: { $0.id == number }) else {
            return try FuzzFinding.require(
                output.wasReset(script.nextStream), "a valid request was not received")
        }
        let tag = HTTP2Script.tag(of: script.nextStream)
        try FuzzFinding.require(
            stream.body == [tag, tag, tag] && stream.hasEnded || stream.closeCount > 0,
            "a valid request was received as \(stream.body)")
    }

    private func close(_ random: inout SeededRandom, isTagged: Bool) throws {
        if random.oneIn(3) {
            // Everything that waits runs out of time.
            for _ in 0..<20 { channel.embeddedEventLoop.advanceTime(by: .seconds(10)) }
            try receive()
        }
        if channel.isActive { try channel.close().wait() }
        // Work of streams that ends later.
        channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        for stream in server.streams {
            try FuzzFinding.require(
                stream.beginCount == 1 && stream.closeCount == 1,
                "a stream has begun \(stream.beginCount) and closed \(stream.closeCount) times")
            let tag = HTTP2Script.tag(of: UInt32(Int(stream.id)))
            try FuzzFinding.require(
                !isTagged || stream.body.allSatisfy { $0 < 0x80 || $0 == tag },
                "bytes of another stream were received on stream \(stream.id)")
        }
        try FuzzFinding.require(ledger.heldBytes == 0, "\(ledger.heldBytes) bytes are held")
        let own = faults.withLock { $0.filter { !$0.isOfClient } }
        try FuzzFinding.require(own.isEmpty, "failures of the server: \(own)")
        server.streams = []
        try FuzzFinding.require(server.connection == nil, "the connection is retained")
    }
}

/// A stream that answers at random.
private final class FuzzedStream: HTTP2StreamHandler {
    let id: HTTP2StreamID
    private let connection: HTTP2Connection
    private let loop: any EventLoop
    private var random: SeededRandom
    private var uncredited = 0
    private var isOver = false
    private(set) var body: [UInt8] = []
    private(set) var hasEnded = false
    private(set) var beginCount = 0
    private(set) var closeCount = 0
    private(set) var heldBytes = 0

    init(
        _ id: HTTP2StreamID, _ connection: HTTP2Connection, _ loop: any EventLoop,
        _ random: SeededRandom
    ) {
        self.id = id
        self.connection = connection
        self.loop = loop
        self.random = random
    }

    func begin(_ headers: HPACKHeaders, isWhole: Bool) {
        beginCount += 1
        hasEnded = isWhole
        if random.oneIn(10) { return abandon("3") }
        if isWhole { finish() }
    }

    func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {
        body += bytes.readableBytesView
        uncredited += size
        hasEnded = hasEnded || isLast
        guard !isOver else { return }
        hold(bytes.readableBytes)
        if isLast { finish() } else { resume() }
    }

    func close() {
        closeCount += 1
        isOver = true
        hold(-heldBytes)
        connection.released(id)
    }

    func resume() {
        guard !isOver, uncredited > 0, connection.mayCredit(id) else { return }
        connection.write(.windowUpdate(windowSizeIncrement: uncredited), on: id)
        uncredited = 0
        connection.flush()
    }

    func proceed() {
        connection.beganWork()
        guard random.oneIn(2) else { return answer() }
        loop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(random.below(2_000)))) {
            self.answer()
        }
    }

    func refuse(_ cause: StreamRefusal) {
        abandon(cause == .memory ? "8" : "4")
    }

    private func finish() {
        if connection.mayProceed(id) { proceed() }
    }

    private func answer() {
        defer { connection.endedWork() }
        guard !isOver else { return }
        hold(-heldBytes)
        connection.released(id)
        connection.write(.headers(.init(headers: [":status": "200"])), on: id)
        for _ in 0..<random.below(4) {
            let bytes = ByteBuffer(repeating: 7, count: random.pick([0, 5, 300, 70_000]))
            connection.write(.data(.init(data: .byteBuffer(bytes))), on: id)
        }
        switch random.below(6) {
        case 0: connection.reset(id)
        case 1:
            connection.write(
                .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), on: id)
        // The response goes on for ever.
        case 2: break
        default:
            connection.write(
                .headers(.init(headers: ["grpc-status": "0"], endStream: true)), on: id)
        }
        connection.flush()
    }

    private func abandon(_ status: String) {
        isOver = true
        hold(-heldBytes)
        connection.abandon(id, ["grpc-status": status])
    }

    private func hold(_ change: Int) {
        heldBytes += change
        connection.memory.change(by: change)
    }
}
