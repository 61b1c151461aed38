import LarderCore
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

@Suite("HTTP/2: clients that are slow, and memory")
struct HTTP2SlowClientTests {
    private typealias Frame = HTTP2Peer.Frame

    /// A stream that answers a request with a number of bytes, and notes why it is refused.
    private final class Stream: HTTP2StreamHandler {
        let id: HTTP2StreamID
        let connection: HTTP2Connection
        let size: Int
        /// True if the answer waits for the connection.
        let waits: Bool
        private(set) var refusals: [StreamRefusal] = []
        var heldBytes = 0
        private(set) var resumeCount = 0

        init(_ id: HTTP2StreamID, _ connection: HTTP2Connection, size: Int, waits: Bool) {
            (self.id, self.connection, self.size, self.waits) = (id, connection, size, waits)
        }

        func begin(_ headers: HPACKHeaders, isWhole: Bool) {
            guard isWhole, !waits || connection.mayProceed(id) else { return }
            answer()
        }

        private func answer() {
            connection.write(.headers(.init(headers: [":status": "200"])), on: id)
            let bytes = ByteBuffer(repeating: 7, count: size)
            connection.write(.data(.init(data: .byteBuffer(bytes))), on: id)
            connection.write(
                .headers(.init(headers: ["grpc-status": "0"], endStream: true)), on: id)
            connection.flush()
        }

        func receive(_ bytes: ByteBuffer, size: Int, isLast: Bool) {}
        func close() {}
        func resume() { resumeCount += 1 }
        func proceed() { answer() }

        func refuse(_ cause: StreamRefusal) {
            refusals.append(cause)
            connection.memory.change(by: -heldBytes)
            heldBytes = 0
            connection.abandon(id, ["grpc-status": cause == .memory ? "8" : "4"])
        }
    }

    /// The streams of a connection, in order.
    private final class Streams {
        var all: [Stream] = []
    }

    /// A client of a connection with ``Stream``s.
    private final class Client {
        let peer: HTTP2Peer

        init(
            _ ledger: MemoryLedger, size: Int = 0, window: UInt32? = nil, waits: Bool = false
        ) throws {
            let made = Streams()
            let limits = HTTP2Connection.Limits(
                streams: 1_000, resets: 100, keepaliveInterval: .seconds(10_000),
                keepaliveTimeout: .seconds(20), pingInterval: .seconds(5))
            peer = try HTTP2Peer { channel, _ in
                try HTTP2Connection.add(to: channel, limits, ledger) { _, id, connection, _ in
                    let stream = Stream(id, connection, size: size, waits: waits)
                    made.all.append(stream)
                    return stream
                }
            }
            self.made = made
            peer.send(HTTP2Peer.preface)
            let setting = window.map { [0, 4] + withUnsafeBytes(of: $0.bigEndian, Array.init) }
            peer.say(.settings, payload: setting ?? [])
            peer.say(.settings, 1)
        }

        private let made: Streams

        deinit { made.all = [] }

        func stream(_ number: Int) throws -> Stream {
            try #require(made.all.count > number ? made.all[number] : nil)
        }

        var refusals: [[StreamRefusal]] { made.all.map(\.refusals) }

        /// Sends a request without a body.
        func ask(_ number: Int) throws {
            try peer.open(UInt32(2 * number + 1), isWhole: true)
            peer.channel.embeddedEventLoop.run()
        }

        func advance(by time: TimeAmount) {
            peer.channel.embeddedEventLoop.advanceTime(by: time)
        }
    }

    // MARK: Time

    @Test(
        "A connection that is not ready after 20 seconds is closed, however slowly it sends",
        arguments: [0, 3, 24, 30])
    func unready(count: Int) throws {
        let peer = try HTTP2Peer { channel, server in
            try channel.pipeline.syncOperations.addHandlers(
                HTTP2Handler(HTTP2Handler.Limits()), server)
        }
        let bytes = HTTP2Peer.preface + Frame(type: .settings).bytes
        for byte in bytes.prefix(count) {
            peer.channel.embeddedEventLoop.advanceTime(by: .milliseconds(600))
            peer.send([byte])
        }
        peer.channel.embeddedEventLoop.advanceTime(by: .milliseconds(Int64(19_999 - 600 * count)))
        #expect(peer.channel.isActive)
        peer.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!peer.channel.isActive)
    }

    @Test("Headers that are not complete after 20 seconds end the connection, at any byte")
    func halfHeaders() throws {
        let client = try HTTP2Peer()
        let whole = Frame(
            type: .headers, flags: HTTP2Peer.endsHeaders, stream: 1, payload: try client.headers()
        ).bytes
        for cut in 0...whole.count {
            let faults = Box<[HTTP2Fault]>([])
            let peer = try HTTP2Peer(faults: faults)
            peer.send(whole.prefix(cut))
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(19))
            #expect(peer.channel.isActive)
            peer.channel.embeddedEventLoop.advanceTime(by: .seconds(2))
            let isWhole = cut == 0 || cut == whole.count
            #expect(peer.channel.isActive == isWhole, "\(cut)")
            #expect(faults.withLock { $0 } == (isWhole ? [] : [.slowFrame]), "\(cut)")
        }
    }

    @Test("A connection that has begun may be idle")
    func idle() throws {
        let client = try HTTP2Peer()
        client.channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(client.channel.isActive)
    }

    @Test("A client that takes nothing for 30 seconds loses the call, though it answers pings")
    func stalled() throws {
        let ledger = MemoryLedger(limit: .max)
        let client = try Client(ledger, size: 100_000, window: 1_000)
        for number in 0..<2 { try client.ask(number) }
        #expect(ledger.heldBytes == 2 * 99_000)
        for second in 0..<41 {
            client.advance(by: .seconds(1))
            if second % 6 == 0 {
                client.peer.say(.ping, payload: [UInt8](repeating: 1, count: 8))
            }
            // The second one is slow, but goes on.
            if second % 10 == 0 { client.peer.credit(100, on: 3) }
        }
        #expect(client.refusals == [[.stalled], []])
        #expect(ledger.heldBytes == 99_000 - 500)
        let sent = try client.peer.sent()
        #expect(sent.contains("1 grpc-status=4.") && !sent.contains("3 grpc-status=4."))
        // The stream has ended: more window brings nothing.
        client.peer.credit(1_000, on: 1)
        #expect(try client.peer.sent().isEmpty)
        #expect(client.peer.channel.isActive)
    }

    @Test(
        "A call ends exactly 30 seconds after its client has last taken something",
        arguments: [0, 1, 2_499, 4_999, 5_000, 29_999])
    func exactPatience(milliseconds: Int64) throws {
        let client = try Client(MemoryLedger(limit: .max), size: 100_000, window: 1_000)
        // A connection that has other calls, and with them checks at other times.
        try client.ask(0)
        client.advance(by: .milliseconds(milliseconds))
        try client.ask(1)
        client.peer.credit(100, on: 1)
        client.advance(by: .milliseconds(29_999))
        #expect(client.refusals == [[], []])
        client.advance(by: .milliseconds(1))
        #expect(client.refusals == [[.stalled], [.stalled]])
    }

    @Test(
        "A call waiting for its turn ends 30 seconds after the connection has last taken something")
    func exactPatienceOfConnection() throws {
        // The window of the connection is 65,535 bytes.
        let client = try Client(MemoryLedger(limit: .max), size: 60_000, window: 100_000)
        for number in 0..<3 { try client.ask(number) }
        client.advance(by: .milliseconds(17_300))
        client.peer.credit(1, on: 0)
        client.advance(by: .milliseconds(29_999))
        #expect(client.refusals == [[], [], []])
        client.advance(by: .milliseconds(1))
        #expect(client.refusals == [[], [.stalled], [.stalled]])
    }

    @Test("A stream that waits for others of its connection is not stalled")
    func waiting() throws {
        let ledger = MemoryLedger(limit: .max)
        // The window of the connection is 65,535 bytes.
        let client = try Client(ledger, size: 60_000, window: 100_000)
        for number in 0..<4 { try client.ask(number) }
        for _ in 0..<60 {
            client.advance(by: .seconds(1))
            client.peer.credit(500, on: 0)
        }
        #expect(client.refusals == [[], [], [], []])
        #expect(ledger.heldBytes == 4 * 60_000 - 65_535 - 60 * 500)
        // Now the connection takes nothing.
        client.advance(by: .seconds(40))
        #expect(client.refusals.flatMap { $0 }.count > 0)
    }

    // MARK: Memory

    @Test("Responses that clients do not take are bounded, and the largest holder loses first")
    func bounded() throws {
        let ledger = MemoryLedger(limit: 10 << 20)
        let honest = try Client(ledger, size: 50_000, window: 1_000)
        try honest.ask(0)
        let greedy = try Client(ledger, size: 1 << 20, window: 0)
        var most = 0
        for number in 0..<100 {
            try greedy.ask(number)
            most = max(most, ledger.heldBytes)
            greedy.peer.channel.embeddedEventLoop.run()
            #expect(ledger.heldBytes <= 10 << 20)
        }
        #expect(most <= 12 << 20)
        #expect(greedy.refusals.filter { $0 == [.memory] }.count >= 89)
        #expect(honest.refusals == [[]] && greedy.peer.channel.isActive)
        #expect(try greedy.peer.sent().contains { $0.hasSuffix(" grpc-status=8.") })
        // The honest one reads on.
        honest.peer.credit(50_000, on: 1)
        #expect(try honest.peer.sent().last == "1 grpc-status=0.")
        try greedy.peer.channel.close().wait()
        #expect(ledger.heldBytes == 0)
    }

    @Test("A connection that does not take its responses is not served further")
    func waitsForClient() throws {
        let ledger = MemoryLedger(limit: .max)
        let client = try Client(ledger, size: 1 << 20, window: 0, waits: true)
        for number in 0..<50 { try client.ask(number) }
        #expect(ledger.heldBytes == 4 << 20)
        // The second is read, and the fifth is begun.
        client.peer.say(.credit, payload: [0, 0x7f, 0, 0])
        client.peer.credit(1 << 20, on: 3)
        client.peer.channel.embeddedEventLoop.run()
        #expect(ledger.heldBytes == 4 << 20)
        #expect(try client.peer.sent().contains("3 grpc-status=0."))
        let connection = try client.stream(0).connection
        for _ in 0..<3 { connection.beganWork() }
        for _ in 0..<3 { connection.endedWork() }
        #expect(ledger.heldBytes == 4 << 20 && client.refusals.allSatisfy(\.isEmpty))
    }

    @Test("The call that holds the most is refused, whether requests or responses")
    func largest() throws {
        let ledger = MemoryLedger(limit: 1_000_000)
        let client = try Client(ledger, size: 300_000, window: 0)
        for number in 0..<3 { try client.ask(number) }
        try client.peer.open(7)
        let fourth = try client.stream(3)
        fourth.heldBytes = 400_000
        fourth.connection.memory.change(by: 400_000)
        client.peer.channel.embeddedEventLoop.run()
        #expect(client.refusals.prefix(3) == [[], [], []])
        #expect(fourth.refusals == [.memory])
        #expect(ledger.heldBytes == 900_000)
    }

    @Test("A connection without calls that holds too much is closed")
    func noCalls() throws {
        let ledger = MemoryLedger(limit: 1_000)
        let client = try Client(ledger)
        try client.ask(0)
        let memory = try client.stream(0).connection.memory
        memory.change(by: 2_000)
        client.peer.channel.embeddedEventLoop.run()
        #expect(!client.peer.channel.isActive && ledger.heldBytes == 0)
    }

    @Test("A connection that holds half of the memory is not read from until it holds less")
    func parked() throws {
        let ledger = MemoryLedger(limit: 10 << 20)
        let client = try Client(ledger)
        try client.peer.open(1)
        let connection = try client.stream(0).connection
        connection.memory.change(by: 6 << 20)
        _ = try client.peer.sent()
        func send() {
            for _ in 0..<40 {
                client.peer.say(.data, on: 1, payload: [UInt8](repeating: 1, count: 16_000))
            }
        }
        send()
        #expect(try client.peer.sent() == [])
        connection.memory.change(by: -(2 << 20))
        connection.released(1)
        client.peer.channel.embeddedEventLoop.run()
        #expect(try client.peer.sent() == ["0 credit 640000"])
    }

    @Test("While memory is scarce, requests of a connection are received one after the other")
    func credits() throws {
        let ledger = MemoryLedger(limit: 8_000)
        let client = try Client(ledger)
        for stream in [1, 3, 5] as [UInt32] { try client.peer.open(stream) }
        let connection = try client.stream(0).connection
        #expect(connection.mayCredit(1) && connection.mayCredit(3))
        connection.memory.change(by: 3_000)
        #expect(connection.mayCredit(1) && !connection.mayCredit(3) && !connection.mayCredit(5))
        #expect(connection.mayCredit(1))
        connection.released(1)
        #expect(try client.stream(1).resumeCount == 1 && client.stream(2).resumeCount == 0)
        #expect(connection.mayCredit(3) && !connection.mayCredit(5))
        connection.memory.change(by: -2_000)
        connection.released(3)
        #expect(try client.stream(2).resumeCount == 1 && connection.mayCredit(1))
    }
}
