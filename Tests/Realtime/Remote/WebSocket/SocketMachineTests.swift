import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeWebSocket

/// A machine whose actions are recorded as lines of text.
private struct MachineUnderTest {
    var machine: SocketMachine
    var now = Duration.seconds(1000)
    private(set) var lines: [String] = []

    init(_ configuration: WebSocketConfiguration = WebSocketConfiguration()) {
        machine = SocketMachine(configuration, at: now)
    }

    mutating func record(_ actions: [SocketMachine.Action]) {
        for action in actions {
            switch action {
            case .deliver(.opened(let hello)): lines.append("opened \(hello.sessionID)")
            case .deliver(.response(let number, let response)):
                lines.append("response \(number) \(response.status.rawValue) \(response.payload)")
            case .deliver(.push): lines.append("push")
            case .deliver(.reset(let host)): lines.append("reset \(host)")
            case .deliver(.shutdown(let reason)): lines.append("shutdown \(reason)")
            case .deliver(.closed(let error)):
                lines.append("closed \(error.map { "\($0.kind)" } ?? "")")
            case .write(let bytes):
                lines.append("write \(String(decoding: bytes.prefix(8), as: UTF8.self))")
            case .ping: lines.append("ping")
            case .close(let isViolation): lines.append(isViolation ? "violation" : "close")
            case .log: lines.append("log")
            }
        }
    }

    /// The lines since the last call.
    mutating func read() -> [String] {
        defer { lines = [] }
        return lines
    }

    mutating func receive(_ text: String) {
        record(machine.received(Array(text.utf8), at: now))
    }

    mutating func receive(_ message: ServerMessage) {
        record(machine.received(message.text, at: now))
    }

    mutating func open() {
        machine.upgraded(at: now)
        receive(.hello(ServerHello(serverTimeMilliseconds: 1, host: "h", sessionID: "s1")))
        _ = read()
    }

    mutating func pull() {
        while let action = machine.next(at: now) { record([action]) }
    }

    /// Lets time pass to the next deadline.
    ///
    /// - Returns: how long that took.
    mutating func waitForDeadline() -> Duration? {
        guard let deadline = machine.deadline else { return nil }
        defer { now = max(now, deadline) }
        record(machine.deadlineReached(at: max(now, deadline)))
        return deadline - now
    }
}

@Suite struct SocketMachineTests {
    @Test func `a greeting opens the connection, and requests wait for it`() {
        var socket = MachineUnderTest()
        socket.machine.upgraded(at: socket.now)
        socket.machine.send(.unauthenticate, number: 1)
        socket.pull()
        #expect(socket.read() == [])
        socket.receive(.hello(ServerHello(serverTimeMilliseconds: 1, host: "h", sessionID: "s1")))
        socket.pull()
        #expect(socket.read() == ["opened s1", #"write {"t":"d""#])
    }

    @Test func `the data of an answer to a get is a node, of others it is not`() {
        var socket = MachineUnderTest()
        socket.open()
        socket.machine.send(.get(QuerySpec(.root)), number: 1)
        socket.machine.send(.unauthenticate, number: 2)
        socket.pull()
        _ = socket.read()
        let object = try? JSONValue(parsing: Array(#"{"a":1}"#.utf8))
        for number in [1, 2, 1] {
            socket.receive(
                .response(ResponseMessage(number: number, status: .ok, data: object ?? .null)))
        }
        let lines = socket.read()
        #expect(lines[0].contains("node("))
        #expect(lines[1].contains("json("))
        #expect(lines[2].contains("json("), "the get was answered before")
    }

    @Test(arguments: [
        (ServerMessage.reset(host: "other"), ["reset other", "close"]),
        (.shutdown(reason: "why"), ["shutdown why", "close"]),
        (.failure("no"), ["closed internal", "close"]),
        (.notice("x"), ["log"]), (.unknown("x"), ["log"]), (.pong, []),
    ])
    func `control messages have their effects before and after the greeting`(
        message: ServerMessage, expected: [String]
    ) {
        for isOpen in [false, true] {
            var socket = MachineUnderTest()
            if isOpen { socket.open() } else { socket.machine.upgraded(at: socket.now) }
            socket.receive(message)
            #expect(socket.read() == expected)
        }
    }

    @Test(arguments: [
        #"{"t":"d","d":{"r":1,"b":{"s":"ok"}}}"#, #"{"t":"d","d":{"a":"sd","b":{"msg":""}}}"#,
        "garbage", "",
    ])
    func `messages before the greeting, and what is no message, end the connection`(text: String) {
        var socket = MachineUnderTest()
        socket.machine.upgraded(at: socket.now)
        socket.receive(text)
        #expect(socket.read() == ["closed internal", "violation"])
        #expect(socket.machine.isEnded)
        #expect(socket.machine.deadline == nil)
    }

    @Test func `a second greeting ends the connection`() {
        var socket = MachineUnderTest()
        socket.open()
        socket.receive(.hello(ServerHello(serverTimeMilliseconds: 1, host: "h", sessionID: "s1")))
        #expect(socket.read() == ["closed internal", "violation"])
    }

    @Test func `nothing happens after the end`() {
        var socket = MachineUnderTest()
        socket.open()
        socket.record(socket.machine.close())
        #expect(socket.read() == ["close"])
        socket.receive(.push(.securityDebug("")))
        socket.machine.send(.unauthenticate, number: 1)
        socket.pull()
        socket.record(socket.machine.failed(nil))
        socket.record(socket.machine.close())
        socket.machine.upgraded(at: socket.now)
        #expect(socket.waitForDeadline() == nil)
        #expect(socket.read() == [])
    }

    @Test func `long messages are cut and joined`() throws {
        var configuration = WebSocketConfiguration()
        configuration.maxMessageBytes = 100_000
        var socket = MachineUnderTest(configuration)
        socket.open()
        let text = Node(.string(String(repeating: "x", count: 40_000)))
        socket.machine.send(.put(.root, text, hash: nil), number: 1)
        socket.pull()
        #expect(
            socket.read() == ["write 3", #"write {"t":"d""#, "write xxxxxxxx", "write xxxxxxxx"])
        let push = ServerMessage.push(.overwrite(.root, text, tag: nil))
        for frame in try #require(MessageFrames(push.text)) {
            socket.record(socket.machine.received(Array(frame), at: socket.now))
        }
        #expect(socket.read() == ["push"])
        socket.receive("999999")
        let piece = String(repeating: "x", count: 60_000)
        socket.receive(piece)
        socket.receive(piece)
        #expect(socket.read() == ["closed internal", "violation"])
    }

    // MARK: Deadlines

    @Test func `a server that does not greet in time is given up`() {
        for isUpgraded in [false, true] {
            var socket = MachineUnderTest()
            socket.now += .seconds(15)
            if isUpgraded { socket.machine.upgraded(at: socket.now) }
            #expect(socket.waitForDeadline() == .seconds(5))
            #expect(socket.read() == ["closed unavailable", "close"])
        }
    }

    @Test func `a silent connection is kept alive, and given up without an answer`() {
        var socket = MachineUnderTest()
        socket.open()
        #expect(socket.waitForDeadline() == .seconds(45))
        #expect(socket.read() == ["write 0", "ping"])
        #expect(socket.waitForDeadline() == .seconds(20))
        #expect(socket.read() == ["closed unavailable", "close"])
    }

    @Test func `any frame answers a ping`() {
        var socket = MachineUnderTest()
        socket.open()
        for _ in 0..<5 {
            #expect(socket.waitForDeadline() == .seconds(45))
            #expect(socket.read() == ["write 0", "ping"])
            socket.machine.receivedOther(at: socket.now)
        }
    }

    @Test func `a client that only receives sends keepalives, and one that only sends pings`() {
        var socket = MachineUnderTest()
        socket.open()
        socket.now += .seconds(30)
        socket.receive(.push(.securityDebug("")))
        #expect(socket.waitForDeadline() == .seconds(15))
        #expect(socket.read() == ["push", "write 0"])

        var sender = MachineUnderTest()
        sender.open()
        sender.now += .seconds(30)
        sender.machine.send(.unauthenticate, number: 1)
        sender.pull()
        #expect(sender.waitForDeadline() == .seconds(15))
        #expect(sender.read().last == "ping")
    }

    @Test func `a keepalive does not interrupt a message`() {
        var socket = MachineUnderTest()
        socket.open()
        let text = Node(.string(String(repeating: "x", count: 40_000)))
        socket.machine.send(.put(.root, text, hash: nil), number: 1)
        if let action = socket.machine.next(at: socket.now) { socket.record([action]) }
        #expect(socket.read() == ["write 3"])
        #expect(socket.waitForDeadline() == .seconds(45))
        #expect(socket.read() == ["ping"])
        socket.machine.receivedOther(at: socket.now)
        socket.pull()
        #expect(socket.read().count == 3)
        #expect(socket.waitForDeadline() == .seconds(45))
        #expect(socket.read() == ["write 0", "ping"])
    }

    @Test func `a server that takes nothing is given up, one that takes a little is not`() {
        var socket = MachineUnderTest()
        socket.open()
        for _ in 0..<4 {
            socket.machine.writabilityChanged(false, at: socket.now)
            socket.now += .seconds(40)
            socket.receive(.push(.securityDebug("")))
            socket.machine.writabilityChanged(true, at: socket.now)
        }
        socket.machine.writabilityChanged(false, at: socket.now)
        let start = socket.now
        while !socket.machine.isEnded, socket.now - start < .seconds(300) {
            socket.receive(.push(.securityDebug("")))
            _ = socket.waitForDeadline()
        }
        #expect(socket.now - start == .seconds(60))
        #expect(socket.read().suffix(2) == ["closed unavailable", "close"])
    }

    @Test func `without an interval there are no keepalives`() {
        var configuration = WebSocketConfiguration()
        configuration.keepaliveInterval = nil
        var socket = MachineUnderTest(configuration)
        socket.open()
        #expect(socket.machine.deadline == nil)
    }

    @Test func `damaged frames end the connection or mean something, and never more`() {
        var random = SeededRandom()
        let messages: [ServerMessage] = [
            .hello(ServerHello(serverTimeMilliseconds: 1, host: "h", sessionID: "s1")),
            .push(.overwrite(TreePath("a"), Node(.integer(1)), tag: 1)),
            .push(.merge(TreePath("a"), [PathValue(TreePath("b/c"), .empty)], tag: nil)),
            .response(ResponseMessage(number: 1, RealtimeResponse(.ok))), .reset(host: "h"),
        ]
        for _ in 0..<2000 {
            var socket = MachineUnderTest()
            if random.oneIn(3) { socket.machine.upgraded(at: socket.now) } else { socket.open() }
            for _ in 0..<random.below(6) {
                let frame =
                    random.oneIn(6)
                    ? Array("\(random.below(9))".utf8)
                    : random.mutated(random.pick(messages).text)
                socket.record(socket.machine.received(frame, at: socket.now))
            }
            let ends = socket.read().filter { $0 == "close" || $0 == "violation" }
            #expect(ends.count == (socket.machine.isEnded ? 1 : 0), "\(random)")
        }
    }
}
