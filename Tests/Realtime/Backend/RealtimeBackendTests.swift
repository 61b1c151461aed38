import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Realtime backend")
struct RealtimeBackendTests {
    @Test("a connection begins with the time, the host and a session of its own")
    func hello() {
        let backend = TestBackend { $0.host = "example.org:9000" }
        let (first, second) = (backend.connect(), backend.connect())
        guard case .opened(let hello) = first.receivedEvents().first else {
            Issue.record("no hello")
            return
        }
        #expect(hello.serverTimeMilliseconds == 1_700_000_000_000)
        #expect(hello.host == "example.org:9000" && hello.sessionID == "z-1")
        #expect(second.received() == ["hello z-2"])
    }

    @Test("the name of a session does not tell that of another")
    func sessionNames() {
        let last = Box<UInt64>(0)
        let backend = TestBackend {
            $0.makeIdentity = {
                last.withLock { last in
                    last += 1
                    return last
                }
            }
        }
        let secrets = [backend.connect(), backend.connect()].map { client in
            client.received().first?.split(separator: "-").first
        }
        #expect(secrets[0] != nil && secrets[0] != secrets[1])
    }

    @Test("namespaces have trees of their own")
    func namespaces() throws {
        let backend = TestBackend()
        let node = try Node(parsing: "1")
        backend.perform { $0.write(TreeWrite(TreePath("a"), node), in: "other") }
        #expect(backend.tree == .empty)
        #expect(backend.backend.tree(of: "other").description == #"{"a":1}"#)
    }

    @Test("a writer receives the change before the answer, others receive it too")
    func order() throws {
        let backend = TestBackend()
        let (writer, other) = (backend.connect(), backend.connect())
        _ = (writer.received(), other.received())
        #expect(writer.listen("a") == ["1 ok"])
        #expect(other.listen("a/t") == ["1 ok"])
        #expect(try writer.put("a/t", #"{".sv":"timestamp"}"#) == ["d /a/t 1700000000000", "2 ok"])
        #expect(other.received() == ["d /a/t 1700000000000"])
        #expect(backend.tree.description == #"{"a":{"t":1700000000000}}"#)
    }

    @Test("requests that a client sends at once are answered in order, pushes between them")
    func pipelining() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        let events = Box<[String]>([])
        let connection = backend.backend.remote().connect(ConnectRequest()) { event in
            events.withLock { $0.append(event.text) }
        }
        connection.send(
            .listen(QuerySpec(.root), tag: nil, hash: "", compoundHash: nil), number: 1)
        for number in 2...4 {
            let node = Node(.integer(Int64(number)))
            connection.send(.put(TreePath("a"), node, hash: nil), number: number)
        }
        backend.scheduler.drain()
        #expect(
            events.withLock { $0 } == [
                "hello z-2", "1 ok", "d /a 2", "2 ok", "d /a 3", "3 ok", "d /a 4", "4 ok",
            ])
        connection.close()
    }

    @Test("other requests are answered: statistics, one-time reads of locations and windows")
    func others() throws {
        let backend = TestBackend()
        try backend.set("", #"{"a":{"x":1,"y":2,".priority":3}}"#)
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(.statistics(["c": 1])) == ["1 ok"])
        #expect(
            client.send(.get(QuerySpec(TreePath("a"))))
                == [#"2 ok {"x":1,"y":2,".priority":3}"#])
        let last = try QueryBuilder().limited(toLast: 1).parameters
        #expect(client.send(.get(QuerySpec(TreePath("a"), last))) == [#"3 ok {"y":2}"#])
        #expect(client.send(.get(QuerySpec(TreePath("b")))) == ["4 ok null"])
    }

    // MARK: Control

    @Test("refused, dropped, reset and shut down connections receive nothing more")
    func control() throws {
        let backend = TestBackend()
        backend.perform { $0.refuseConnections(with: LarderError(.unavailable, "x", domain: "x")) }
        #expect(backend.connect().received() == ["closed unavailable"])
        backend.perform { $0.refuseConnections(with: nil) }
        let controls: [(String, (RealtimeBackend) -> Void)] = [
            ("closed", { $0.dropConnections() }), ("reset h", { $0.resetConnections(host: "h") }),
            ("shutdown r", { $0.shutDownConnections(reason: "r") }),
        ]
        for (event, control) in controls {
            let client = backend.connect()
            _ = client.received()
            _ = client.listen("a")
            backend.perform(control)
            #expect(client.received() == [event])
            #expect(client.send(.statistics([:])) == [])
            try backend.set("a", "\"\(event)\"")
            #expect(client.received() == [])
        }
    }

    @Test("held responses are released in order; pushes are not held")
    func heldResponses() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = (client.received(), client.listen("a"))
        backend.perform { $0.holdResponses(true) }
        #expect(try client.put("a", "1") == ["d /a 1"])
        #expect(try client.put("a", "2") == ["d /a 2"])
        backend.perform { $0.holdResponses(false) }
        #expect(client.received() == ["2 ok", "3 ok"])
    }

    @Test("a closed connection receives nothing more, not even what is on its way")
    func closed() {
        let backend = TestBackend()
        let events = Box(0)
        let connection = backend.backend.remote().connect(ConnectRequest()) { _ in
            events.withLock { $0 += 1 }
        }
        connection.close()
        connection.close()
        backend.scheduler.drain()
        #expect(events.withLock { $0 } == 0)
    }
}
