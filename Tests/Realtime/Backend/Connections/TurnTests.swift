import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

/// What waits for its turn: requests of clients that do not take answers, and of those that have left.
@Suite("Turns of clients at the backend")
struct TurnTests {
    private let asked = Box<[String]>([])
    private let backend: TestBackend

    init() throws {
        let asked = asked
        backend = TestBackend { configuration in
            configuration.rules = { request in
                asked.withLock { $0.append(request.path) }
                return .allow
            }
        }
        try backend.set("big", "\"\(String(repeating: "x", count: 5_000))\"")
    }

    private func connect(
        room: Int, _ memory: MemoryAccount? = nil
    ) -> (connection: BackendConnection, events: Box<[ConnectionEvent]>) {
        let events = Box<[ConnectionEvent]>([])
        let connection = backend.backend.connect(
            ConnectRequest(), to: RealtimeBackend.defaultNamespace, room: room, memory: memory
        ) { event in events.withLock { $0.append(event) } }
        backend.scheduler.drain()
        return (connection, events)
    }

    @Test(
        "a client whose answers wait is served again when it has taken them, and others meanwhile")
    func room() throws {
        let (slow, events) = connect(room: 8_000)
        slow.took(events.withLock { $0.reduce(0) { $0 + $1.estimatedBytes } })
        for number in 1...6 { slow.send(.get(QuerySpec(TreePath("big"))), number: number) }
        backend.scheduler.drain()
        #expect(events.withLock { $0.count } == 1 + 2)
        let other = backend.connect()
        #expect(try other.put("a", "1") == ["hello z-2", "1 ok"])
        // Less than enough changes nothing.
        slow.took(1_000)
        backend.scheduler.drain()
        #expect(events.withLock { $0.count } == 1 + 2)
        slow.took(5_000)
        backend.scheduler.drain()
        #expect(events.withLock { $0.count } == 1 + 3)
        slow.took(1 << 20)
        backend.scheduler.drain()
        #expect(events.withLock { $0.count } == 1 + 6)
    }

    @Test("the end of a connection cancels its reads, not its writes")
    func end() throws {
        let (leaving, events) = connect(room: 8_000)
        for number in 1...10 { leaving.send(.get(QuerySpec(TreePath("big"))), number: number) }
        leaving.send(.put(TreePath("a"), Node(.integer(1)), hash: nil), number: 11)
        leaving.send(.onDisconnectPut(TreePath("b"), Node(.integer(2))), number: 12)
        backend.scheduler.drain()
        let count = asked.withLock { $0.count }
        #expect(events.withLock { $0.count } == 3 && backend.tree.child(ChildKey("a")).isEmpty)
        leaving.close()
        backend.scheduler.drain()
        #expect(asked.withLock { Array($0.dropFirst(count)) } == ["/a", "/b", "/b"])
        #expect(backend.tree.child(ChildKey("b")) == Node(.integer(2)))
        #expect(backend.tree.child(ChildKey("a")) == Node(.integer(1)))
    }

    @Test("sessions take turns, however much one of them has in line")
    func turns() {
        let (first, _) = connect(room: .max)
        let (second, _) = connect(room: .max)
        asked.withLock { $0 = [] }
        for number in 1...5 { first.send(.get(QuerySpec(TreePath("f\(number)"))), number: number) }
        for number in 1...2 { second.send(.get(QuerySpec(TreePath("s\(number)"))), number: number) }
        backend.scheduler.drain()
        #expect(asked.withLock { $0 } == ["/f1", "/s1", "/f2", "/s2", "/f3", "/f4", "/f5"])
    }

    @Test("operations and listens are charged to the connection until it ends")
    func memory() throws {
        let ledger = MemoryLedger(limit: 100 << 20)
        let account = ledger.open { completion in completion() }
        let (client, _) = connect(room: .max, account)
        let large = Node(.string(String(repeating: "x", count: 1 << 20)))
        for number in 1...4 {
            client.send(.onDisconnectPut(TreePath("p/\(number)"), large), number: number)
        }
        backend.scheduler.drain()
        #expect((4 << 20..<5 << 20).contains(ledger.heldBytes))
        client.send(.onDisconnectCancel(TreePath("p")), number: 5)
        backend.scheduler.drain()
        #expect(ledger.heldBytes == 0)
        client.send(
            .listen(QuerySpec(TreePath("a")), tag: nil, hash: "", compoundHash: nil), number: 6)
        backend.scheduler.drain()
        #expect((1..<1_000).contains(ledger.heldBytes))
        client.send(.unlisten(QuerySpec(TreePath("a")), tag: nil), number: 7)
        backend.scheduler.drain()
        #expect(ledger.heldBytes == 0)
    }

    @Test("clients register values for less than half of the memory, and small ones beyond that")
    func registeredMemory() throws {
        let ledger = MemoryLedger(limit: 16 << 20)
        let accounts = (0..<2).map { _ in ledger.open { completion in completion() } }
        defer { for account in accounts { account.close() } }
        let (large, largeEvents) = connect(room: .max, accounts[0])
        let (small, smallEvents) = connect(room: .max, accounts[1])
        let value = Node(.string(String(repeating: "x", count: 1 << 20)))
        for number in 1...12 {
            large.send(.onDisconnectPut(TreePath("large/\(number)"), value), number: number)
        }
        small.send(.onDisconnectPut(TreePath("small"), Node(.integer(1))), number: 1)
        backend.scheduler.drain()
        let texts = largeEvents.withLock { $0.map(\.text) }
        #expect(texts.filter { $0.hasSuffix(" ok") }.count == 7, "\(texts)")
        #expect(texts.filter { $0.contains("unavailable") }.count == 5, "\(texts)")
        #expect(smallEvents.withLock { $0.last?.text } == "1 ok")
        #expect(ledger.heldBytes < 8 << 20 && ledger.reliefCount == 0)
    }

    @Test("a query ends in the middle when its client has left, and is made whole later")
    func cancelled() throws {
        let children = (0..<20_000).map {
            Child(ChildKey("k\($0)"), Node(.integer(Int64($0 * 7_919 % 20_011))))
        }
        let node = Node(children: children.sorted { $0.key < $1.key })
        let parameters = try QueryBuilder().ordered(by: NodeIndex.value).limited(toFirst: 1)
            .parameters
        var checks = 0
        #expect(throws: LarderError.self) {
            try parameters.filtered(node) { () throws(LarderError) in
                checks += 1
                if checks == 2 { throw LarderError(realtime: .cancelled, "left") }
            }
        }
        #expect(checks == 2)
        let whole = try parameters.filtered(node) { () throws(LarderError) in checks += 1 }
        #expect(checks > 20 && whole == parameters.filtered(node) && whole.childCount == 1)
    }
}
