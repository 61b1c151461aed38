import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

@Suite("HTTP/2: protocol errors")
struct HTTP2ProtocolErrorTests {
    @Test(
        "More streams at a time than allowed are refused; who knows better loses the connection",
        arguments: [false, true])
    func streams(isTold: Bool) throws {
        let client = try HTTP2Peer { $0.streams = 2 }
        if isTold { client.say(.settings, 1) }
        for stream in [1, 3, 5] as [UInt32] { try client.open(stream) }
        #expect(try client.sent() == [isTold ? "go away 1" : "5 reset 7"])
        #expect(client.server.heard.prefix(2) == ["1 /a/b", "3 /a/b"])
        #expect(client.channel.isActive == !isTold)
    }

    @Test("Headers that are too large end their stream alone")
    func largeHeaders() throws {
        let client = try HTTP2Peer { $0.headerBytes = 300 }
        var headers = HTTP2Peer.request
        headers.add(name: "x", value: String(repeating: "x", count: 100))
        try client.say(.headers, 4, on: 1, payload: client.headers(headers))
        #expect(try client.sent() == ["1 reset 2"] && client.channel.isActive)
        try client.open(3)
        #expect(client.server.heard.last == "3 /a/b")
    }

    @Test("A client that takes back too many calls loses its connection")
    func takenBack() throws {
        let client = try HTTP2Peer { $0.resets = 50 }
        for number in 0..<200 as Range<UInt32> where client.channel.isActive {
            try client.open(2 * number + 1)
            client.say(.reset, on: 2 * number + 1, payload: [0, 0, 0, 8])
            if number < 45 { #expect(client.channel.isActive) }
        }
        #expect(!client.channel.isActive)
    }

    /// What ends a connection, as a frame, and with what error.
    private static let broken: [(HTTP2Peer.Frame, String?)] = [
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

    @Test("A protocol error ends the connection with its reason", arguments: 0..<7)
    func rules(number: Int) throws {
        let (frame, answer) = Self.broken[number]
        let faults = Box<[HTTP2Fault]>([])
        let client = try HTTP2Peer(faults: faults)
        #expect(faults.withLock(\.isEmpty))
        client.send(frame.bytes)
        #expect(try client.sent().last == answer)
        #expect(!client.channel.isActive)
        let last = try #require(faults.withLock(\.last))
        #expect(last.isOfClient && last.reason.hasPrefix("connection ended: "))
    }

    @Test("Frames on streams that the client has closed, and on skipped ones, end the connection")
    func closedStreams() throws {
        for (type, isReset) in [
            (HTTP2Peer.Kind.data, true), (.headers, true), (.data, false), (.headers, false),
        ] {
            let client = try HTTP2Peer()
            if isReset {
                try client.open(1)
                client.say(.reset, on: 1, payload: [0, 0, 0, 8])
            } else {
                try client.say(.headers, 5, on: 1, payload: client.headers())
                _ = client.answer(0, on: 1)
            }
            _ = try client.sent()
            client.say(type, 5, on: 1, payload: type == .data ? [1] : try client.headers())
            #expect(try client.sent().last == "go away 5", "\(type) \(isReset)")
            #expect(!client.channel.isActive)
        }
        let client = try HTTP2Peer()
        try client.open(5)
        client.say(.headers, 5, on: 3, payload: try client.headers())
        #expect(try client.sent().last == "go away 1" && !client.channel.isActive)
    }

    @Test("What was on its way to a stream that the server has reset is ignored")
    func resetStreams() throws {
        let client = try HTTP2Peer { $0.headerBytes = 300 }
        var headers = HTTP2Peer.request
        headers.add(name: "x", value: String(repeating: "x", count: 100))
        try client.say(.headers, 4, on: 1, payload: client.headers(headers))
        try client.open(3)
        _ = try client.sent()
        client.say(.data, 1, on: 1, payload: [1])
        #expect(try client.sent() == [] && client.channel.isActive)
    }

    @Test("Nothing that a client sends does harm")
    func fuzz() throws {
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let client = try HTTP2Peer { $0.resets = 20 }
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let stream = UInt32.random(in: 0...9, using: &random)
                var bytes = HTTP2Peer.Frame(
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
