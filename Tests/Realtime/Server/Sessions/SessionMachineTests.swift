import Foundation
import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeServer
import LarderRealtimeTestSupport
import LarderRealtimeWire
import LarderRuntime
import LarderSharedTestSupport
import Testing

private let hello =
    #"{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"localhost:9000","s":"z-1","once":"z"}}}"#

@Suite("Sessions of the service")
struct SessionMachineTests {
    @Test("a query's window is sent before the answer, and changes with it")
    func listening() throws {
        let world = SessionWorld()
        let client = world.connect()
        #expect(client.received() == [hello])
        #expect(
            client.send(
                #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/scores","d":{"a":1,"b":21,"c":55}}}}"#)
                == [#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#])
        #expect(
            client.send(#"{"t":"d","d":{"r":2,"a":"s","b":{"c":{"sdk.objc.12-0-0":1}}}}"#)
                == [#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#])
        #expect(
            client.send(
                #"{"t":"d","d":{"r":3,"a":"q","b":{"p":"/scores","q":{"i":".value","l":2,"vf":"r"},"t":1,"h":""}}}"#
            )
                == [
                    #"{"t":"d","d":{"a":"d","b":{"p":"scores","d":{"b":21,"c":55},"t":1}}}"#,
                    #"{"t":"d","d":{"r":3,"b":{"s":"ok","d":{}}}}"#,
                ])
        #expect(
            client.send(#"{"t":"d","d":{"r":4,"a":"p","b":{"p":"/scores/d","d":99}}}"#)
                == [
                    #"{"t":"d","d":{"a":"m","b":{"p":"scores","d":{"b":null,"d":99},"t":1}}}"#,
                    #"{"t":"d","d":{"r":4,"b":{"s":"ok","d":""}}}"#,
                ])
    }

    @Test("a conditional write with a name is answered again, and its greeting says so")
    func named() throws {
        let world = SessionWorld()
        let put = { (number: Int, name: String) in
            #"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"/n","d":2,"h":"","once":{"c":"c","w":"\#(name)"}}}}"#
        }
        let first = world.connect()
        #expect(first.received() == [hello])
        #expect(first.send(put(1, "1")) == [#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#])
        first.breakSocket()
        let second = world.connect(lastSession: "z-1")
        #expect(second.received() == [hello.replacingOccurrences(of: "z-1", with: "z-2")])
        #expect(second.send(put(2, "1")) == [#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#])
        #expect(
            second.send(put(3, "2"))
                == [
                    #"{"t":"d","d":{"r":3,"b":{"s":"datastale","d":"Transaction hash does not match"}}}"#
                ])
        #expect(world.backend.tree().description == #"{"n":2}"#)
    }

    @Test("a conditional write of stale data is preceded by the present data")
    func stale() throws {
        let world = SessionWorld()
        let client = world.connect()
        _ = client.received()
        _ = client.send(
            #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/n","d":5}}}"#,
            #"{"t":"d","d":{"r":2,"a":"q","b":{"p":"/n","h":""}}}"#)
        #expect(
            client.send(#"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/n","d":2,"h":""}}}"#)
                == [
                    #"{"t":"d","d":{"a":"d","b":{"p":"n","d":5}}}"#,
                    #"{"t":"d","d":{"r":3,"b":{"s":"datastale","d":"Transaction hash does not match"}}}"#,
                ])
    }

    @Test("an authentication that is not valid ends the one that the session had")
    func invalidAuthentication() throws {
        let world = SessionWorld {
            $0.tokens = { _ in .valid(.administrator) }
            $0.rules = { $0.user == nil ? .deny : .allow }
        }
        func message(_ number: Int, _ action: String, _ body: String) -> String {
            #"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#
        }
        for (action, body) in [
            ("gauth", #"{"cred":"owner","authvar":"ada"}"#),
            ("gauth", #"{"cred":"owner","noauth":1}"#), ("auth", #"{"cred":7}"#),
            ("auth", "null"), ("gauth", #"{"cred":"owner","auth_variable_override":null}"#),
        ] {
            let client = world.connect()
            _ = client.received()
            _ = client.send(message(1, "gauth", #"{"cred":"owner"}"#))
            #expect(
                client.send(message(2, "p", #"{"p":"/a","d":1}"#))
                    == [#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#])
            let refusal = client.send(message(3, action, body))
            #expect(refusal.count == 1 && refusal[0].contains(#""s":"failed""#), "\(refusal)")
            let denied = client.send(message(4, "p", #"{"p":"/a","d":2}"#))
            #expect(denied.count == 1 && denied[0].contains("permission_denied"), "\(denied)")
            _ = client.send(message(5, "gauth", #"{"cred":"owner"}"#))
            #expect(
                client.send(message(6, "p", #"{"p":"/a","d":3}"#))
                    == [#"{"t":"d","d":{"r":6,"b":{"s":"ok","d":""}}}"#])
        }
    }

    @Test("several listeners of a change are sent the same, each with its tag")
    func fanOut() throws {
        let world = SessionWorld()
        let clients = (0..<4).map { _ in world.connect() }
        for (number, client) in clients.enumerated() {
            _ = client.received()
            let query = number < 3 ? "" : #""q":{"l":2,"vf":"l"},"t":\(number),"#
            _ = client.send(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a",\#(query)"h":""}}}"#)
        }
        for value in ["1", "2", "2", #"{"b":{"c":[1,2]}}"#, #"{"b":{"c":[1,3]}}"#] {
            let node = try Node(parsing: value)
            world.backend.write(TreeWrite(TreePath("a"), node))
            world.scheduler.drain()
            let messages = clients.map { $0.received() }
            #expect(messages[0] == messages[1] && messages[0] == messages[2])
            #expect(messages[0].count == (value == "2" && messages[0].isEmpty ? 0 : 1))
            if let message = messages[0].first {
                var bytes: [UInt8] = []
                JSONWriter.append(node.exportedJSON, to: &bytes)
                #expect(message.contains(String(decoding: bytes, as: UTF8.self)))
            }
        }
        #expect(clients[3].received() == [])
    }

    @Test("a push is encoded once for all sessions that receive it")
    func encodesOnce() throws {
        let pushFrames = PushFrames()
        final class Session {
            var machine: SessionMachine

            init(_ pushFrames: PushFrames) {
                machine = SessionMachine(
                    SessionConfiguration(), host: "localhost", pushFrames: pushFrames, at: .zero)
            }
        }
        let sessions = (0..<3).map { _ in Session(pushFrames) }
        for text in [#"{"a":[1,2],"b":"x"}"#, #"{"a":[1,2],"b":"y"}"#] {
            var frames: [ArraySlice<UInt8>] = []
            for session in sessions {
                let push = RealtimePush.overwrite(
                    TreePath("c"), try Node(parsing: text), tag: nil)
                #expect(session.machine.received(.push(push)) == [])
                guard case .frame(let frame) = session.machine.next() else { continue }
                frames.append(frame)
            }
            let addresses = frames.map { $0.withUnsafeBufferPointer { $0.baseAddress } }
            #expect(frames.count == 3 && Set(addresses).count == 1)
            #expect(String(decoding: frames[0], as: UTF8.self).contains(text.suffix(4)))
        }
    }

    /// A session whose properties expectations can refer to.
    private final class OpenSession {
        var machine = SessionMachine(
            SessionConfiguration(), host: "localhost", pushFrames: PushFrames(), at: .zero)

        init() {
            _ = receive(.opened(ServerHello(serverTimeMilliseconds: 0, host: "h", sessionID: "s")))
            while next() {}
            _ = machine.takeTakenBytes()
        }

        var wantsInput: Bool { machine.wantsInput }
        var requestBytes: Int { machine.requestBytes }
        var partialBytes: Int { machine.partialBytes }
        var keptBytes: Int { machine.keptBytes }
        var nextBytes: Int { machine.nextBytes }

        func receive(_ event: ConnectionEvent) -> [SessionMachine.Action] {
            machine.received(event)
        }
        func receive(_ text: [UInt8]) -> [SessionMachine.Action] {
            machine.received(text, at: .zero)
        }
        func next() -> Bool { machine.next() != nil }
        func takeTakenBytes() -> Int { machine.takeTakenBytes() }
        func close() -> [SessionMachine.Action] { machine.closed() }
    }

    @Test("what is in line is bounded by work and bytes, whatever the numbers of the requests")
    func line() {
        let session = OpenSession()
        #expect(session.wantsInput)
        let query = #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"/a","q":{"i":"c","l":1,"vf":"l"}}}}"#
        var count = 0
        while session.wantsInput, count < 1_000 {
            count += 1
            #expect(session.receive(Array(query.utf8)).count == 1)
        }
        #expect(count == 50 && session.requestBytes == 50 * query.utf8.count)
        let answer = ConnectionEvent.response(number: 1, RealtimeResponse(.ok))
        _ = session.receive(answer)
        #expect(session.wantsInput)
        for _ in 1..<50 { _ = session.receive(answer) }
        #expect(session.requestBytes == 0)
        // A large request, in segments: the part that is there is counted, then the whole.
        let text = String(repeating: "x", count: 1 << 20)
        let put = Array(#"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a","d":"\#(text)"}}}"#.utf8)
        let half = put.count / 2
        _ = session.receive(Array("2".utf8))
        _ = session.receive(Array(put[..<half]))
        #expect(session.partialBytes == half && session.wantsInput)
        #expect(session.receive(Array(put[half...])).count == 1)
        #expect(session.partialBytes == 0 && session.requestBytes == put.count)
        #expect(!session.wantsInput)
        #expect(session.close() == [.disconnect] && session.requestBytes == 0)
    }

    @Test("an answer is encoded when it is taken, and charged from its arrival to its end")
    func charged() {
        let ledger = MemoryLedger(limit: 100 << 20)
        let account = ledger.open { completion in completion() }
        let session = OpenSession()
        session.machine.charge(to: account)
        let node = Node(.string(String(repeating: "x", count: 1 << 20)))
        let event = ConnectionEvent.response(
            number: 1, RealtimeResponse(.ok, payload: .node(node)))
        _ = session.receive(event)
        #expect(ledger.heldBytes == event.estimatedBytes && session.nextBytes > 1 << 20)
        #expect(session.takeTakenBytes() == 0)
        #expect(session.next() && ledger.heldBytes > 1 << 20 && session.nextBytes == 0)
        #expect(session.takeTakenBytes() == event.estimatedBytes)
        while session.next() {}
        #expect(ledger.heldBytes == 0 && session.keptBytes == 0)
    }

    @Test("keepalives are ignored, pings answered, and long messages joined and divided")
    func framing() throws {
        let world = SessionWorld()
        let client = world.connect()
        _ = client.received()
        #expect(client.send("0", "0") == [])
        #expect(
            client.send(#"{"t":"c","d":{"t":"p","d":{}}}"#) == [
                #"{"t":"c","d":{"t":"o","d":null}}"#
            ])
        let text = String(repeating: "é", count: 40_000)
        let put = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"/long","d":"\#(text)"}}}"#
        let (first, second) = (String(put.prefix(20_000)), String(put.dropFirst(20_000)))
        #expect(
            client.send("2", first, second) == [#"{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}"#])
        #expect(
            client.send(#"{"t":"d","d":{"r":2,"a":"g","b":{"p":"long"}}}"#)
                == [#"{"t":"d","d":{"r":2,"b":{"s":"ok","d":"\#(text)"}}}"#])
    }

    @Test("requests that are invalid or unknown are answered, and tokens of applications accepted")
    func answers() throws {
        let client = SessionWorld().connect()
        _ = client.received()
        for (number, request) in [
            #""a":"x","b":{}"#, #""a":"p","b":{"d":1}"#, #""a":"q","b":{"p":1}"#,
            #""a":"m","b":{"p":"a","d":1}"#,
            #""a":"g","b":7"#, #""a":"p""#,
        ].enumerated() {
            let answers = client.send(#"{"t":"d","d":{"r":\#(number),\#(request)}}"#)
            #expect(
                answers.count == 1
                    && answers[0].hasPrefix(#"{"t":"d","d":{"r":\#(number),"b":{"s":"failed""#),
                "\(request): \(answers)")
        }
        for action in ["appcheck", "unappeck", "unauth"] {
            #expect(
                client.send(#"{"t":"d","d":{"r":9,"a":"\#(action)","b":{}}}"#)
                    == [#"{"t":"d","d":{"r":9,"b":{"s":"ok","d":""}}}"#])
        }
        #expect(
            client.send(#"{"t":"d","d":{"r":10,"a":"auth","b":{"cred":"ada"}}}"#)
                == [#"{"t":"d","d":{"r":10,"b":{"s":"ok","d":{"auth":{"uid":"ada"}}}}}"#])
    }

    @Test(
        "what is no message ends the session",
        arguments: [
            "x", "{}", "[]", #"{"t":"d"}"#, #"{"t":"x","d":{}}"#, #"{"t":"d","d":{"a":"p"}}"#,
            "null",
        ])
    func violations(text: String) throws {
        let world = SessionWorld()
        let client = world.connect()
        _ = client.received()
        _ = client.send(#"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":true}}}"#)
        #expect(client.send(text) == ["close"])
        #expect(client.logs.count == 1)
        #expect(world.backend.tree().description == #"{"gone":true}"#)
        #expect(client.send(text) == [])
    }

    @Test("a client that sends nothing is disconnected, and what it left is written")
    func silence() throws {
        let world = SessionWorld()
        let client = world.connect()
        _ = client.received()
        _ = client.send(
            #"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":true}}}"#, at: .seconds(1))
        _ = client.send("0", at: .seconds(46))
        #expect(client.deadline == .seconds(121))
        #expect(client.checkSilence(at: .seconds(120)) == [])
        #expect(world.backend.tree() == .empty)
        #expect(client.checkSilence(at: .seconds(121)) == ["close"])
        #expect(world.backend.tree().description == #"{"gone":true}"#)
        #expect(client.deadline == nil)
    }

    @Test("a broken socket and a new connection end the session")
    func ends() throws {
        let world = SessionWorld()
        let client = world.connect()
        _ = client.received()
        _ = client.send(#"{"t":"d","d":{"r":1,"a":"o","b":{"p":"/gone","d":1}}}"#)
        let next = world.connect(lastSession: "z-1")
        #expect(client.received() == ["close"])
        #expect(world.backend.tree().description == #"{"gone":1}"#)
        _ = next.received()
        _ = next.send(#"{"t":"d","d":{"r":2,"a":"o","b":{"p":"/gone","d":2}}}"#)
        next.breakSocket()
        #expect(world.backend.tree().description == #"{"gone":2}"#)
        #expect(next.received() == [])
    }

    @Test("the backend's last message is sent before the end")
    func lastMessages() throws {
        let world = SessionWorld()
        var client = world.connect()
        _ = client.received()
        world.backend.resetConnections(host: "other:1")
        world.scheduler.drain()
        #expect(client.received() == [#"{"t":"c","d":{"t":"r","d":"other:1"}}"#, "close"])
        client = world.connect()
        _ = client.received()
        world.backend.shutDownConnections(reason: "bye")
        world.scheduler.drain()
        #expect(client.received() == [#"{"t":"c","d":{"t":"s","d":"bye"}}"#, "close"])
        world.backend.refuseConnections(with: LarderError(realtime: .unavailable, "later"))
        client = world.connect()
        #expect(client.received() == [#"{"t":"c","d":{"t":"e","d":"later"}}"#, "close"])
    }

    @Test("a client that does not read is neither read from nor kept for ever")
    func slowness() throws {
        var configuration = SessionConfiguration()
        configuration.maxPendingBytesWhileReading = 1000
        configuration.maxPendingBytes = 5000
        let world = SessionWorld()
        let client = world.connect(configuration)
        _ = client.received()
        _ = client.send(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/","h":""}}}"#)
        #expect(client.wantsInput)
        for count in 0..<20 {
            world.backend.write(
                TreeWrite(TreePath("a"), Node(.string(String(repeating: "x", count: 100 + count)))))
            world.scheduler.drain()
            client.fill()
        }
        #expect(!client.wantsInput && client.logs.isEmpty)
        for count in 0..<40 {
            world.backend.write(
                TreeWrite(TreePath("a"), Node(.string(String(repeating: "y", count: 100 + count)))))
            world.scheduler.drain()
            client.fill()
        }
        #expect(client.logs == ["the client takes less than it is sent"])
        #expect(client.received() == ["close"])
    }
}

@Suite("Addresses of sessions")
struct SessionAddressTests {
    private func address(
        _ path: String, _ parameters: [(String, String)], host: String = "localhost"
    ) throws(LarderError) -> SessionAddress {
        try SessionAddress(
            path: path, parameters: parameters.map { (name: $0.0, value: $0.1) }, host: host,
            defaultNamespace: "default")
    }

    @Test("the namespace is that of the parameters, else that of the host")
    func namespaces() throws {
        let named = try address("/.ws", [("ns", "demo"), ("v", "5"), ("ls", "z-1"), ("p", "app")])
        #expect(named.namespace == "demo" && named.request.lastSessionID == "z-1")
        let hosted = try address("/.ws", [("v", "5")], host: "Demo.example.com:443")
        #expect(hosted.namespace == "demo" && hosted.request.lastSessionID == nil)
        #expect(try address("/.ws", [("v", "5")], host: "127.0.0.1:9000").namespace == "default")
    }

    @Test("parameters that would restrict the session's rights are refused")
    func restrictions() {
        for name in ["auth_variable_override", "authvar", "noauth"] {
            let error = #expect(throws: LarderError.self) {
                try address("/.ws", [("v", "5"), (name, "null")])
            }
            #expect(error?.message.contains(name) == true)
        }
    }

    @Test("other paths and versions are refused")
    func invalid() {
        #expect(throws: LarderError.self) { try address("/", [("v", "5")]) }
        #expect(throws: LarderError.self) { try address("/.ws", [("v", "4")]) }
        #expect(throws: LarderError.self) { try address("/.ws", []) }
    }
}
