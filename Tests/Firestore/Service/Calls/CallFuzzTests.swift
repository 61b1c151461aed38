import GRPCCore
import LarderCore
import LarderHTTP
import LarderTestSupport
import LarderWire
import Logging
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import NIOPosix
import Testing

@testable import LarderServer

/// Random calls, mutated at the level of messages, frames and bytes, against methods that echo their
/// requests.
@Suite("Server: random calls")
struct CallFuzzTests {
    @Test("Any calls are answered with their own messages or a status, and leave nothing behind")
    func calls() async throws {
        try await FuzzRun("calls of gRPC", count: 400)() { random in
            let fuzzed = try FuzzedCalls(&random)
            defer { fuzzed.end() }
            try fuzzed.converse(&random)
        }
    }
}

/// A connection whose client makes random calls.
private final class FuzzedCalls {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    /// A call that the client makes.
    private struct Plan {
        var isStream = false
        var messages: [[UInt8]] = []
        /// True if the call is to succeed.
        var isValid = true
    }

    /// The response to a call.
    private struct Outcome {
        var bytes: [UInt8] = []
        var status: String?
        var message = ""
    }

    private static let path = "/google.firestore.v1.Firestore/"
    /// The errors of the framing itself, for which gRPC prescribes INTERNAL.
    private static let framingErrors = [
        "the request ends inside a message",
        "a message is compressed, but the headers have no grpc-encoding",
        "the compression flag of a message is not 0 or 1",
    ]

    private let channel = EmbeddedChannel()
    private let ledger: MemoryLedger
    /// The replies to requests that are not answered inline.
    private let replies = Box<[@Sendable () -> Void]>([])
    private var plans: [Plan] = []
    private var output = HTTP2Output()
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var outcomes: [UInt32: Outcome] = [:]

    init(_ random: inout SeededRandom) throws {
        ledger = MemoryLedger(limit: random.pick([20_000, 100 << 20]))
        var limits = ServerConfiguration(storage: .memory).limits
        limits.requestBytes = 2_000
        let monitor = CallMonitor(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let connections = OpenConnections()
        let request = RequestMethod(
            descriptor: Method.Rollback.descriptor, monitor: monitor
        ) { [replies] bytes in
            RequestMethod.Work { reply in
                if bytes.count == 7 { throw RPCError(code: .notFound, message: "é") }
                if bytes.count.isMultiple(of: 2) {
                    replies.withLock { $0.append { reply { [bytes] } } }
                } else {
                    reply { [bytes] }
                }
                return true
            } async: {
                throw RPCError.clientHasLeft
            }
        }
        let stream = StreamMethod(descriptor: Method.Write.descriptor) { call, _, _ in
            EchoStream(call)
        }
        let calls = CallContext(
            methods: [.request(request), .stream(stream)], token: nil,
            access: try ServerConfiguration(storage: .memory).webAccess(), limits: limits,
            ledger: ledger, executor: LoopExecutor(MultiThreadedEventLoopGroup.singleton),
            connections: connections)
        try HTTP2Connection.add(
            to: channel, limits.ofConnection, ledger, makeStream: calls.makeCall)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func end() {
        replies.withLock { $0 = [] }
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    func converse(_ random: inout SeededRandom) throws {
        var script = HTTP2Script(&random, streams: 8) { random in
            let (plan, request) = Self.call(&random)
            plans.append(plan)
            return request
        }
        let kind = random.below(4)
        if kind > 1 { script.mutate(&random) }
        var bytes = script.bytes
        if kind == 3 { random.damage(&bytes) }
        for piece in random.cut(bytes) {
            // A closed one receives nothing.
            _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
            try receive()
            if random.oneIn(30) { try reply() }
            if random.oneIn(60) {
                channel.embeddedEventLoop.advanceTime(by: .milliseconds(Int64(random.below(2_000))))
            }
        }
        try reply()
        if random.oneIn(3) {
            for _ in 0..<20 { channel.embeddedEventLoop.advanceTime(by: .seconds(10)) }
            try receive()
        }
        if channel.isActive { try channel.close().wait() }
        try reply()
        channel.embeddedEventLoop.advanceTime(by: .seconds(300))
        try check(isTagged: kind < 3, isValid: kind < 2)
    }

    /// A random call, mostly a valid one.
    private static func call(_ random: inout SeededRandom) -> (Plan, HTTP2Script.Request) {
        var plan = Plan(isStream: random.oneIn(2))
        var fields: [(name: String, value: String)] = [
            (":method", "POST"), (":scheme", "http"),
            (":path", path + (plan.isStream ? "Write" : "Rollback")), (":authority", "localhost"),
            ("content-type", "application/grpc"), ("te", "trailers"),
        ]
        if random.oneIn(4) {
            fields.append(("grpc-timeout", random.pick(["1H", "99999999S", "1n"])))
        }
        // It concerns compressed messages alone.
        if random.oneIn(6) {
            fields.append(("grpc-encoding", random.pick(["gzip", "identity"])))
        }
        if random.oneIn(10) {
            let wrong = random.pick(wrongFields)
            let place = fields.firstIndex { $0.name == wrong.name }
            if let place { fields[place] = wrong } else { fields.append(wrong) }
            plan.isValid = false
        }
        var body: [UInt8] = []
        for _ in 0..<(plan.isStream || random.oneIn(8) ? random.below(5) : 1) {
            let message = (0..<random.pick([0, 1, 6, 7, 50, 800])).map { number in
                number.isMultiple(of: 3) ? UInt8(number & 0x7f) : 0x80
            }
            plan.messages.append(message)
            body += TestConnection.framed(message)
        }
        if !plan.isStream, plan.messages.count != 1 || plan.messages[0].count == 7 {
            plan.isValid = false
        }
        if random.oneIn(8) {
            let wrong = random.pick(wrongEndings)
            body += wrong
            plan.isValid = false
        }
        return (plan, HTTP2Script.Request(fields: fields, body: body))
    }

    private static let wrongFields: [(name: String, value: String)] = [
        (":path", "/google.firestore.v1.Firestore/None"), (":path", "/"), (":method", "PUT"),
        ("content-type", "text/plain"),
    ]

    /// What may follow the messages of a call: a part of a message, a compressed message, one that is
    /// too large.
    private static let wrongEndings: [[UInt8]] = [
        [0], [0, 0, 0, 0], [0, 0, 0, 0, 9, 1], [1, 0, 0, 0, 1, 1], [2, 0, 0, 0, 0],
        [0, 0, 0x7f, 0x7f, 0x7f], [0, 0x7f, 0x7f, 0x7f, 0x7f, 1],
    ]

    // MARK: The server

    /// Sends the replies that were not given inline.
    private func reply() throws {
        let waiting = replies.withLock { replies in
            defer { replies = [] }
            return replies
        }
        for reply in waiting { reply() }
        channel.embeddedEventLoop.run()
        try receive()
    }

    private func receive() throws {
        channel.embeddedEventLoop.run()
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            for frame in try output.receive(bytes.readableBytesView) { try receive(frame) }
        }
    }

    private func receive(_ frame: HTTP2Script.Frame) throws {
        switch frame.type {
        case HTTP2Script.data: outcomes[frame.stream, default: Outcome()].bytes += frame.payload
        case HTTP2Script.headers:
            var bytes = ByteBuffer(bytes: frame.payload)
            let headers = try decoder.decodeHeaders(from: &bytes)
            if let status = headers.first(name: "grpc-status") {
                outcomes[frame.stream, default: Outcome()].status = status
            }
            if let message = headers.first(name: "grpc-message") {
                outcomes[frame.stream, default: Outcome()].message = message
            }
        default: break
        }
    }

    private func check(isTagged: Bool, isValid: Bool) throws {
        for (stream, outcome) in outcomes {
            let isFramingError = Self.framingErrors.contains(outcome.message)
            try FuzzFinding.require(
                outcome.status != "2" && (outcome.status != "13" || isFramingError),
                "status \(outcome.status ?? ""): \(outcome.message)")
            let tag = HTTP2Script.tag(of: stream)
            try FuzzFinding.require(
                !isTagged || outcome.bytes.allSatisfy { $0 < 0x80 || $0 == tag },
                "stream \(stream) has the messages of another")
            guard isValid, let plan = plan(of: stream), let status = outcome.status else {
                continue
            }
            guard status == "0" else {
                // Memory and time may run out.
                try FuzzFinding.require(
                    !plan.isValid || status == "8" || status == "4",
                    "stream \(stream) has failed: \(status) \(outcome.message)")
                continue
            }
            let messages = try TestConnection.messages(ByteBuffer(bytes: outcome.bytes))
            let expected = plan.messages.map { $0.map { $0 < 0x80 ? $0 : tag } }
            try FuzzFinding.require(
                plan.isValid && messages == expected,
                "stream \(stream) has succeeded with \(messages) instead of \(expected)")
        }
        try FuzzFinding.require(ledger.heldBytes == 0, "\(ledger.heldBytes) bytes are held")
    }

    private func plan(of stream: UInt32) -> Plan? {
        let number = Int(stream / 2)
        return number < plans.count ? plans[number] : nil
    }
}

/// A stream that sends its requests back, and waits while its client is far behind.
private final class EchoStream: OpenStream {
    private let call: Call
    private(set) var isBusy = false
    private var hasFinished = false

    init(_ call: Call) {
        self.call = call
    }

    func take(_ request: [UInt8]) {
        guard call.write([request]) else { return }
        isBusy = true
        call.wait { [self] in
            isBusy = false
            if hasFinished { call.end() } else { call.read() }
        }
    }

    func finish() {
        hasFinished = true
        if !isBusy { call.end() }
    }

    func close() {}
}
