import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import Testing

/// Clients that share a store come, write, listen, lose their networks, are killed and end, in a
/// random order; in the end the network is there for all that are left.
@Suite("Several clients of a store, at random")
struct SharedRandomTests {
    @Test("Every write arrives, in its client's order, from one client at a time; all agree")
    func worlds() throws {
        var random = SeededRandom()
        let seed = random.seed
        for _ in 0..<60 {
            let run = try SharedRandomRun(seed: random.next())
            try run.run()
            if !run.faults.isEmpty {
                Issue.record("\(run.faults) with seed \(run.seed) of \(seed)")
                return
            }
        }
    }
}

private final class SharedRandomRun {
    struct Client {
        let name: Int
        let engine: EngineUnderTest
        let remote: SwitchedRemote
        var listeners: [(id: ListenerID, query: QuerySpec, value: Box<Node?>)] = []
    }

    let seed: UInt64
    private var random: SeededRandom
    private let world: SharedStoreWorld
    private let backend: RealtimeBackend
    private let scheduler: ManualScheduler<RealtimeBackend.Timer>
    private var clients: [Client] = []
    private var lastName = 0
    private var lastListener: UInt = 1_000
    private var lastNumber: Int64 = 0
    private var makers: [Int64: Int] = [:]
    private let made = Box<Set<Int64>>([])
    private let committed = Box(0)
    private var started: Int64 = 0
    /// The clients that live.
    private let living = Box<Set<Int>>([])
    private let sent = Box<[(number: Int64, client: Int, living: Set<Int>)]>([])
    private(set) var faults: [String] = []
    private let paths = ["a", "a/b", "a/c", "d", "d/x", "d/y", "d/z"]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        world = try SharedStoreWorld()
        scheduler = ManualScheduler(clock: world.clock)
        var configuration = RealtimeBackendConfiguration()
        configuration.scheduler = scheduler
        let clock = world.clock
        configuration.clock = { clock.timestamp }
        backend = RealtimeBackend(configuration)
    }

    deinit {
        for client in clients { client.engine.scheduler.retire() }
        scheduler.retire()
    }

    func run() throws {
        try open()
        for _ in 0..<(20 + random.below(120)) { try step() }
        if clients.isEmpty { try open() }
        for client in clients { client.remote.turn(on: true) }
        for _ in 0..<30 { pass(.seconds(20)) }
        try check()
        try checkCache()
    }

    private func step() throws {
        switch random.below(20) {
        case 0 where clients.count < 4: try open()
        case 1 where clients.count > 1: end(isKilled: random.oneIn(2))
        case 2:
            if let client = clients.randomElement(using: &random) {
                client.remote.turn(on: random.oneIn(2))
            }
        case 3, 4: settle()
        case 5: pass(.milliseconds(100 + random.below(6_000)))
        case 6, 7: listen()
        case 8: stopListening()
        case 9: runTransaction()
        case 10: scheduler.drain()
        case 11, 12, 13:
            clients.randomElement(using: &random)?.engine.scheduler.drain()
        default: write()
        }
    }

    private func open() throws {
        lastName += 1
        let name = lastName
        let (sent, living) = (sent, living)
        let remote = SwitchedRemote(backend.remote()) { number in
            let alive = living.withLock { $0 }
            sent.withLock { $0.append((number, name, alive)) }
        }
        living.withLock { _ = $0.insert(name) }
        remote.turn(on: random.oneIn(2))
        let engine = try world.open { $0.remote = remote }
        clients.append(Client(name: name, engine: engine, remote: remote))
    }

    private func end(isKilled: Bool) {
        let client = clients.remove(at: random.below(clients.count))
        living.withLock { _ = $0.remove(client.name) }
        if isKilled {
            client.remote.turn(on: false, tells: false)
            world.kill(client.engine)
        } else {
            world.close(client.engine)
        }
    }

    private func write() {
        guard let client = clients.randomElement(using: &random) else { return }
        lastNumber += 1
        let number = lastNumber
        makers[number] = client.name
        let made = made
        client.engine.client.write(
            .overwrite(TreePath(random.pick(paths)), Node(.integer(number))),
            committed: { result in
                if case .success = result { made.withLock { _ = $0.insert(number) } }
            }, acknowledged: { _ in })
        if random.oneIn(2) { client.engine.scheduler.drain() }
    }

    private func runTransaction() {
        guard let client = clients.randomElement(using: &random) else { return }
        started += 1
        let committed = committed
        client.engine.client.runTransaction(
            at: TreePath("t"), localEvents: true,
            { node in
                guard case .number(let number)? = node.leafValue else { return Node(.integer(1)) }
                return Node(.integer((number.integer ?? 0) + 1))
            },
            completion: { result in
                if case .success(let outcome) = result, outcome.isCommitted {
                    committed.withLock { $0 += 1 }
                }
            })
    }

    private func listen() {
        guard let place = clients.indices.randomElement(using: &random) else { return }
        var query = QuerySpec(TreePath(random.pick(paths + ["t"])))
        if random.oneIn(3),
            let parameters = try? QueryBuilder().limited(toLast: 1 + random.below(2)).parameters
        {
            query = QuerySpec(TreePath("d"), parameters)
        }
        lastListener += 1
        let id = ListenerID(lastListener)
        let value = Box<Node?>(nil)
        clients[place].listeners.append((id, query, value))
        clients[place].engine.client.listen(to: query, Listener(id, [.value])) { event in
            if case .value(let node) = event.change { value.withLock { $0 = node } }
        }
    }

    private func stopListening() {
        guard let place = clients.indices.randomElement(using: &random),
            let last = clients[place].listeners.popLast()
        else { return }
        clients[place].engine.client.removeListener(last.id, from: last.query)
    }

    private func settle() {
        repeat { world.settle() } while scheduler.drain()
    }

    private func pass(_ duration: Duration) {
        world.pass(duration)
        scheduler.fireDue()
        settle()
    }

    // MARK: Checks

    private func expected(_ query: QuerySpec) -> Node {
        let node = backend.tree().node(at: query.path)
        return query.loadsAllData ? node : query.parameters.filtered(node)
    }

    private func check() throws {
        for client in clients {
            let pending = client.engine.pending
            if !pending.isEmpty { faults.append("client \(client.name) has pending \(pending)") }
            for listener in client.listeners {
                let value = listener.value.withLock { $0 }
                if value != expected(listener.query) {
                    faults.append(
                        "client \(client.name) shows \(value?.text ?? "nothing") at "
                            + "\(listener.query.path), not \(expected(listener.query).text)")
                }
            }
        }
        checkSent()
        let count = backend.tree().node(at: TreePath("t"))
        let final =
            if case .number(let number)? = count.leafValue { number.integer ?? 0 } else {
                Int64(0)
            }
        let committed = committed.withLock { $0 }
        if final < committed || final > started {
            faults.append("\(committed) transactions of \(started) committed, \(final) applied")
        }
    }

    private func checkSent() {
        let sent = sent.withLock { $0 }
        var first: [Int: Int64] = [:]
        var arrived: Set<Int64> = []
        for entry in sent {
            guard let maker = makers[entry.number] else { continue }
            if entry.client != maker, entry.living.contains(maker) {
                faults.append("\(entry.number) of \(maker) is sent by \(entry.client)")
            }
            guard arrived.insert(entry.number).inserted else { continue }
            if let last = first[maker], last > entry.number {
                faults.append("\(entry.number) of \(maker) is sent after \(last)")
            }
            first[maker] = entry.number
        }
        let lost = made.withLock { $0 }.subtracting(arrived)
        if !lost.isEmpty { faults.append("\(lost.sorted()) are lost") }
    }

    /// The content of locations that were listened to is in the cache, for a client without a
    /// network.
    private func checkCache() throws {
        let queries = clients.flatMap { $0.listeners.map(\.query) }
        for client in clients {
            client.remote.turn(on: false, tells: false)
            world.kill(client.engine)
        }
        clients = []
        let engine = try world.open(isLocal: true)
        for query in queries {
            let value = Box<Node?>(nil)
            lastListener += 1
            engine.client.listen(to: query, Listener(ListenerID(lastListener), [.value])) {
                event in
                if case .value(let node) = event.change { value.withLock { $0 = node } }
            }
            engine.scheduler.drain()
            let cached = value.withLock { $0 }
            if cached != expected(query) {
                faults.append(
                    "the cache has \(cached?.text ?? "nothing") at \(query.path), not "
                        + expected(query).text)
            }
        }
    }
}
