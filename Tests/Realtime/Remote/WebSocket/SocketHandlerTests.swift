import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderSharedTestSupport
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderRealtimeWebSocket

@Suite struct SocketHandlerTests {
    /// The code of an event that ends a connection; nil for another one.
    private func ending(_ events: some RandomAccessCollection<ConnectionEvent>) -> LarderError.Code?
    {
        guard events.count == 1, case .closed(let error?)? = events.first else { return nil }
        return error.kind
    }

    @Test func `the request names the host, the database and the last session`() throws {
        let socket = try EmbeddedSocket(lastSessionID: "sess1")
        let request = try socket.accept()
        #expect(request.hasPrefix("GET /.ws?v=5&ns=demo&ls=sess1 HTTP/1.1\r\n"))
        #expect(request.contains("\r\nHost: db.example:9000\r\n"))
        #expect(request.contains("\r\nUser-Agent: Firebase/5/"))
    }

    @Test func `a greeting may come together with the answer to the request`() throws {
        let socket = try EmbeddedSocket()
        try socket.accept(greeting: EmbeddedSocket.frame(EmbeddedSocket.hello.text))
        guard case .opened(let hello)? = socket.readEvents().first else {
            Issue.record("not opened")
            return
        }
        #expect(hello.sessionID == "s1")
        #expect(hello.serverTimeMilliseconds == 5)
    }

    @Test func `requests, pushes and answers cross the connection`() throws {
        let socket = try EmbeddedSocket()
        try socket.open()
        socket.socket.send([(1, .unauthenticate), (2, .get(QuerySpec(TreePath("a"))))])
        #expect(
            try socket.readTexts() == [
                #"{"t":"d","d":{"r":1,"a":"unauth","b":{}}}"#,
                #"{"t":"d","d":{"r":2,"a":"g","b":{"p":"/a","q":{}}}}"#,
            ])
        try socket.send(.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil)))
        try socket.send(.response(ResponseMessage(number: 2, status: .ok, data: .integer(1))))
        let events = socket.readEvents()
        guard events.count == 2, case .push(.overwrite(let path, let node, tag: nil)) = events[0],
            case .response(number: 2, let response) = events[1]
        else {
            Issue.record("\(events)")
            return
        }
        #expect(path == TreePath("a"))
        #expect(node == Node(.integer(1)))
        #expect(response == RealtimeResponse(.ok, payload: .node(Node(.integer(1)))))
    }

    @Test func `long messages go out in frames, and fragments come in as one`() throws {
        let socket = try EmbeddedSocket()
        try socket.open()
        let text = String(repeating: "x", count: 40_000)
        socket.socket.send([(1, .put(.root, Node(.string(text)), hash: nil))])
        let texts = try socket.readTexts()
        try #require(texts.first == "3")
        #expect(texts[1...].allSatisfy { $0.utf16.count <= 16_384 })
        #expect(texts[1...].joined().contains(text))

        let push = ServerMessage.push(.securityDebug("hi")).text
        try socket.write(EmbeddedSocket.frame(Array(push[..<9]), isFinal: false))
        try socket.write(EmbeddedSocket.frame([1, 2], opcode: 9))
        for byte in EmbeddedSocket.frame(Array(push[9...]), opcode: 0) { try socket.write([byte]) }
        guard case .push(.securityDebug("hi"))? = socket.readEvents().first else {
            Issue.record("no push")
            return
        }
        let pong = try socket.readFrames()
        #expect(pong.count == 1)
        #expect(pong.first?.opcode == 10)
        #expect(pong.first?.payload == [1, 2])
    }

    @Test func `a channel that takes nothing keeps requests waiting`() throws {
        let socket = try EmbeddedSocket()
        try socket.open()
        socket.channel.isWritable = false
        socket.channel.pipeline.fireChannelWritabilityChanged()
        socket.socket.send([(1, .unauthenticate)])
        // Pings are not answered meanwhile.
        try socket.write(EmbeddedSocket.frame([], opcode: 9))
        #expect(try socket.readFrames().isEmpty)
        socket.channel.isWritable = true
        socket.channel.pipeline.fireChannelWritabilityChanged()
        #expect(try socket.readTexts().count == 1)
    }

    @Test func `silence, a missing greeting and a full channel are noticed by the clock`() throws {
        let mute = try EmbeddedSocket()
        mute.loop.advanceTime(by: .seconds(19))
        #expect(mute.readEvents().isEmpty)
        mute.loop.advanceTime(by: .seconds(2))
        #expect(ending(mute.readEvents()) == .unavailable)
        #expect(!mute.channel.isActive)

        let silent = try EmbeddedSocket()
        try silent.open()
        silent.loop.advanceTime(by: .seconds(46))
        let frames = try silent.readFrames()
        #expect(frames.map(\.opcode) == [1, 9])
        #expect(frames.first?.payload == Array("0".utf8))
        silent.loop.advanceTime(by: .seconds(20))
        #expect(ending(silent.readEvents()) == .unavailable)

        let full = try EmbeddedSocket()
        try full.open()
        full.channel.isWritable = false
        full.channel.pipeline.fireChannelWritabilityChanged()
        for _ in 0..<6 {
            full.loop.advanceTime(by: .seconds(10))
            if full.channel.isActive { try full.send(.pong) }
        }
        full.loop.advanceTime(by: .seconds(1))
        #expect(ending(full.readEvents()) == .unavailable)
    }

    @Test func `the end of the channel, in order or not, ends the connection`() throws {
        let lost = try EmbeddedSocket()
        try lost.open()
        try lost.channel.close().wait()
        #expect(ending(lost.readEvents()) == .unavailable)

        let ended = try EmbeddedSocket()
        try ended.open()
        try ended.write(EmbeddedSocket.frame([0x03, 0xe8], opcode: 8))
        let events = ended.readEvents()
        guard events.count == 1, case .closed(nil) = events[0] else {
            Issue.record("\(events)")
            return
        }
        #expect(try ended.readFrames().map(\.opcode) == [8])
        #expect(!ended.channel.isActive)

        let failed = try EmbeddedSocket()
        try failed.open()
        try failed.write(EmbeddedSocket.frame([0x03, 0xf3], opcode: 8))
        #expect(ending(failed.readEvents()) == .unavailable)
    }

    @Test func `a loss after any byte ends the connection once, after all that was complete`()
        throws
    {
        let frames = [EmbeddedSocket.hello, .push(.securityDebug("hi")), .push(.securityDebug(""))]
            .map { EmbeddedSocket.frame($0.text) }
        let size = frames.joined().count + 140
        for cut in 0..<size {
            let socket = try EmbeddedSocket()
            let acceptance = try socket.readRequest().acceptance
            let bytes = acceptance + frames.joined()
            try socket.write(Array(bytes.prefix(cut)))
            try socket.channel.close().wait()
            socket.loop.run()
            var end = acceptance.count
            let complete = frames.count { frame in
                end += frame.count
                return end <= cut
            }
            let events = socket.readEvents()
            #expect(events.count == complete + 1, "cut at \(cut)")
            #expect(ending(events.suffix(1)) == .unavailable)
        }
    }

    @Test func `closing tells the server, and nobody else`() throws {
        let socket = try EmbeddedSocket()
        try socket.open()
        socket.socket.close()
        #expect(try socket.readFrames().map(\.payload) == [[0x03, 0xe8]])
        #expect(socket.readEvents().isEmpty)
        #expect(!socket.channel.isActive)
    }

    @Test(arguments: [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello",
        "HTTP/1.1 301 Moved\r\nLocation: http://x/\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
    ])
    func `a server that opens no WebSocket is an error`(answer: String) throws {
        let socket = try EmbeddedSocket()
        try? socket.write(Array(answer.utf8))
        #expect(ending(socket.readEvents()) == .unavailable)
        #expect(!socket.channel.isActive)
    }

    @Test func `headers without end are refused`() throws {
        let socket = try EmbeddedSocket()
        try? socket.write(Array("HTTP/1.1 101 x\r\n".utf8))
        let line = Array("X-\(String(repeating: "y", count: 1000)): z\r\n".utf8)
        for _ in 0..<1000 where socket.channel.isActive { try? socket.write(line) }
        #expect(ending(socket.readEvents()) == .unavailable)
        #expect(!socket.channel.isActive)
    }

    @Test func `frames beyond the maximum are refused at their head`() throws {
        var configuration = WebSocketConfiguration()
        configuration.maxMessageBytes = 1000
        let socket = try EmbeddedSocket(configuration)
        try socket.open()
        try? socket.write(Array(EmbeddedSocket.frame([UInt8](repeating: 1, count: 1001))[..<8]))
        #expect(ending(socket.readEvents()) == .unavailable)
        #expect(!socket.channel.isActive)

        let huge = try EmbeddedSocket(configuration)
        try huge.open()
        try? huge.write([0x81, 127] + [UInt8](repeating: 0xff, count: 8))
        #expect(ending(huge.readEvents()) == .unavailable)

        let fragments = try EmbeddedSocket(configuration)
        try fragments.open()
        let piece = [UInt8](repeating: 1, count: 600)
        try? fragments.write(EmbeddedSocket.frame(piece, isFinal: false))
        try? fragments.write(EmbeddedSocket.frame(piece, opcode: 0))
        #expect(ending(fragments.readEvents()) == .unavailable)
    }

    @Test func `damaged bytes end a connection with one event, or do nothing`() throws {
        var random = SeededRandom()
        let messages = [
            EmbeddedSocket.hello, .push(.securityDebug("hi")), .reset(host: "h"), .pong,
            .response(ResponseMessage(number: 1, RealtimeResponse(.ok))),
        ]
        for _ in 0..<300 {
            let socket = try EmbeddedSocket()
            try socket.accept()
            var bytes: [UInt8] = []
            for _ in 0...random.below(4) {
                bytes += EmbeddedSocket.frame(
                    random.pick(messages).text,
                    opcode: random.oneIn(5) ? UInt8(random.below(16)) : 1,
                    isFinal: !random.oneIn(8))
            }
            bytes = random.mutated(bytes)
            while !bytes.isEmpty, socket.channel.isActive {
                let count = min(bytes.count, 1 + random.below(60))
                try? socket.write(Array(bytes[..<count]))
                bytes.removeFirst(count)
            }
            let ends = socket.readEvents().filter {
                switch $0 {
                case .closed, .reset, .shutdown: true
                default: false
                }
            }
            #expect(ends.count == (socket.channel.isActive ? 0 : 1), "\(random)")
        }
    }
}
