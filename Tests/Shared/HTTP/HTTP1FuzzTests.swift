import LarderCore
import LarderTestSupport
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

/// Random requests against the whole of HTTP/1.1.
@Suite("HTTP/1.1: random requests")
struct HTTP1FuzzTests {
    @Test("Valid requests in any pieces are answered in order; any others leave nothing behind")
    func requests() async throws {
        try await FuzzRun("requests of HTTP/1.1", count: 200)() { random in
            let (script, seed) = (HTTP1Script(&random), random.next())
            try await withDeadline(.seconds(60)) {
                try await Self.converse(script, SeededRandom(seed: seed))
            }
        }
    }

    private static func converse(_ script: HTTP1Script, _ random: SeededRandom) async throws {
        var random = random
        let ledger = MemoryLedger(limit: random.pick([5_000, 1 << 20]))
        let limits = HTTPLimits.ofTests(bodyBytes: 3_000)
        let channel = try await NIOAsyncTestingChannel { channel in
            try HTTP1Handler.add(to: channel, limits, ledger, respond)
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        for piece in random.cut(script.bytes, most: 40) {
            // A closed one receives nothing.
            _ = try? await channel.writeInbound(ByteBuffer(bytes: piece))
            if random.oneIn(50) {
                await channel.testingEventLoop.advanceTime(
                    by: .milliseconds(Int64(random.below(20))))
            }
        }
        var text = ""
        if script.isValid, ledger.limit > 5_000 {
            while text.parts(between: "!").count <= script.targets.count {
                let bytes = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
                text += String(buffer: bytes)
            }
            let answered = text.parts(between: "!").dropLast().map {
                String($0.parts(between: "\n").last ?? "")
            }
            try FuzzFinding.require(
                answered == script.targets, "\(answered) instead of \(script.targets)")
        } else {
            for _ in 0..<4 {
                await channel.testingEventLoop.run()
                await Task.yield()
            }
        }
        if random.oneIn(2) { await channel.testingEventLoop.advanceTime(by: .seconds(200)) }
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        await channel.testingEventLoop.run()
        try FuzzFinding.require(ledger.heldBytes == 0, "\(ledger.heldBytes) bytes are held")
    }

    /// Responds with the target, and with the number of bytes of the body: in one piece or in parts.
    private static let respond: HTTPRespond = { request, reply in
        let text = "\n\(request.target) \(request.body.count)!"
        guard request.body.count.isMultiple(of: 2) else {
            return await reply.send(HTTPResponse(status: 200, text: text))
        }
        reply.begin(HTTPResponseHead(status: 200), bodyBytes: text.utf8.count)
        try? await reply.write(Array(text.utf8.prefix(3)))
        reply.end(Array(text.utf8.dropFirst(3)))
    }
}

/// Random requests of a client of HTTP/1.1: valid ones, or mutations of them.
private struct HTTP1Script {
    /// A request line, header fields, and the body as it is sent.
    private struct Request {
        var lines: [String]
        var body: [UInt8] = []

        var bytes: [UInt8] { lines.flatMap { Array("\($0)\r\n".utf8) } + [13, 10] + body }
    }

    private(set) var bytes: [UInt8] = []
    /// The expected responses of valid requests.
    private(set) var targets: [String] = []
    let isValid: Bool

    init(_ random: inout SeededRandom) {
        let kind = random.below(4)
        isValid = kind == 0
        for number in 0...random.below(5) {
            let (request, bodyBytes) = Self.request(number, &random)
            var changed = request
            if kind > 0, random.oneIn(2) { Self.mutate(&changed, &random) }
            bytes += changed.bytes
            targets.append("/\(number) \(bodyBytes)")
        }
        if kind == 3 { random.damage(&bytes) }
    }

    private static func request(
        _ number: Int, _ random: inout SeededRandom
    ) -> (Request, bodyBytes: Int) {
        let count = random.pick([0, 1, 2, 100, 600])
        let body = [UInt8](repeating: UInt8(97 + number), count: count)
        var request = Request(lines: ["POST /\(number) HTTP/1.1", "Host: localhost"])
        if random.oneIn(4) { request.lines.append("X-Long: " + String(repeating: "v", count: 300)) }
        switch random.below(3) {
        case 0 where count == 0: request.lines[0] = "GET /\(number) HTTP/1.1"
        case 0, 1:
            request.lines.append("Content-Length: \(count)")
            request.body = body
        default:
            request.lines.append("Transfer-Encoding: chunked")
            for piece in random.cut(body) {
                request.body += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece
                request.body += [13, 10]
            }
            request.body += Array("0\r\n\r\n".utf8)
        }
        return (request, count)
    }

    /// Changes, drops and doubles lines, and adds ones that contradict others.
    private static func mutate(_ request: inout Request, _ random: inout SeededRandom) {
        for _ in 0...random.below(3) where !request.lines.isEmpty {
            let place = random.below(request.lines.count)
            switch random.below(7) {
            case 0: request.lines.remove(at: place)
            case 1: request.lines.insert(request.lines[place], at: place)
            case 2:
                var bytes = Array(request.lines[place].utf8)
                random.damage(&bytes)
                request.lines[place] = String(decoding: bytes, as: UTF8.self)
            case 3: random.damage(&request.body)
            default: request.lines.append(random.pick(contradictions))
            }
        }
    }

    private static let contradictions = [
        "Content-Length: 0", "Content-Length: 7", "Content-Length: -1", "Content-Length: 1, 2",
        "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Expect: 100-continue",
        "Connection: close", "Connection: upgrade", "Upgrade: h2c", "Upgrade: websocket", "Host: ",
        " folded", ": none", "X-\u{0}: 1", "PRI * HTTP/2.0",
    ]
}

extension StringProtocol where SubSequence == Substring {
    /// The parts of the text between separators.
    fileprivate func parts(between separator: Character) -> [Substring] {
        split(separator: separator, omittingEmptySubsequences: false)
    }
}
