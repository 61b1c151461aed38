import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import LarderStorage
import Testing

/// Random uses of local-only locations, and of a local database, compared with a dictionary of them.
@Suite("Local-only locations at random")
struct LocalOnlyRandomTests {
    @Test(
        "local data is what was written, whatever else happens, and none of it is sent",
        arguments: [false, true])
    func random(isLocal: Bool) throws {
        for _ in 0..<12 {
            var run = try LocalOnlyRun(SeededRandom(), isLocal: isLocal)
            for _ in 0..<60 { try run.step() }
        }
    }
}

private struct LocalOnlyRun {
    private static let roots = ["l", "s/l", "s/m/l"]
    /// Text that only local data has.
    private static let mark = "local:"

    private var random: SeededRandom
    /// True for a local database, all of which is local only.
    private let isLocal: Bool
    private let store: Store
    private var engine: EngineUnderTest
    private let isFull = Box(false)
    /// What was written to local-only locations.
    private var model = PlainTree()
    private var listeners: [Watched] = []
    /// The queries of listeners that were removed.
    private var ended: [QuerySpec] = []
    private var log: [String] = []

    /// A listener and the last value that it was given.
    private struct Watched {
        let id: ListenerID
        let query: QuerySpec
        let value: Box<PlainTree?>
    }

    init(_ random: SeededRandom, isLocal: Bool) throws {
        self.random = random
        self.isLocal = isLocal
        store = try Store(.inMemory())
        engine = try Self.open(store, isFull, isLocal: isLocal)
        if isLocal { return }
        try engine.setRules(
            TreeCacheRules(Self.roots.map { TreeCacheRule(TreePath($0), isLocalOnly: true) }))
    }

    private static func open(
        _ store: Store, _ isFull: Box<Bool>, isLocal: Bool
    ) throws -> EngineUnderTest {
        let engine = try EngineUnderTest(.inMemory(), store: store, isLocal: isLocal) {
            configuration in
            configuration.isLocal = isLocal
            configuration.guarding = { () throws(LarderError) in
                if isFull.withLock({ $0 }) {
                    throw LarderError(realtime: .resourceExhausted, "the disk is full")
                }
            }
        }
        if !isLocal { try engine.connect() }
        return engine
    }

    private mutating func path() -> TreePath {
        let below = (0..<random.below(4)).map { _ in ChildKey(random.pick(["a", "b", "c"])) }
        if isLocal, random.oneIn(8) { return TreePath(below) }
        return TreePath(random.pick(Self.roots)).appending(TreePath(below))
    }

    private mutating func node() -> Node {
        func leaf(_ random: inout SeededRandom) -> Node {
            random.oneIn(3)
                ? Node(.integer(Int64(random.below(9))))
                : Node(.string(Self.mark + "\(random.below(100))"))
        }
        if random.oneIn(4) { return .empty }
        if random.oneIn(2) { return leaf(&random) }
        return Node(
            children: (0..<(1 + random.below(3))).map { _ in
                Child(ChildKey(random.pick(["a", "b", "c", "1"])), leaf(&random))
            })
    }

    mutating func step() throws {
        switch random.below(12) {
        case 0...4: try write(count: 1 + random.below(3))
        case 5: try increment()
        case 6: try listen()
        case 7:
            guard !listeners.isEmpty else { break }
            let watched = listeners.remove(at: random.below(listeners.count))
            log.append("stop \(watched.query.path)")
            engine.client.removeListener(watched.id, from: watched.query)
            ended.append(watched.query)
        case 8:
            log.append("evict")
            engine.evict()
        case 9: try pushFromServer()
        case 10: try reopen()
        default:
            isFull.withLock { $0 = true }
            log.append("full")
            try write(count: 2)
            engine.scheduler.drain()
            isFull.withLock { $0 = false }
            engine.advance(by: .seconds(61))
            if engine.server.connections.last?.isClosed == true {
                engine.advance(by: .seconds(61))
            }
        }
        engine.scheduler.drain()
        try compare()
    }

    /// Makes writes in one turn.
    private mutating func write(count: Int) throws {
        var made: [(values: [PathValue], isMade: Box<Bool?>)] = []
        for _ in 0..<count {
            let (path, isMade) = (path(), Box<Bool?>(nil))
            let request: WriteRequest
            if random.oneIn(3) {
                let values = ["a", "b", "c"].prefix(1 + random.below(3)).map {
                    PathValue(TreePath($0), node())
                }
                request = .merge(path, values)
            } else {
                request = .overwrite(path, node())
            }
            log.append("\(request)")
            engine.client.write(
                request,
                committed: { result in
                    isMade.withLock { $0 = if case .success = result { true } else { false } }
                },
                acknowledged: { _ in })
            made.append((request.values, isMade))
        }
        engine.scheduler.drain()
        for (values, isMade) in made where isMade.withLock({ $0 }) == true {
            for value in values { model.set(value.path.map(\.text), to: PlainTree(value.node)) }
        }
        let isFull = isFull.withLock { $0 }
        #expect(made.allSatisfy { $0.isMade.withLock { $0 } == !isFull }, "\(random) \(log)")
    }

    /// Increments a number by a write and by a transaction.
    private mutating func increment() throws {
        let path = path().child(ChildKey("n"))
        log.append("increment \(path)")
        let before = model[path.map(\.text)].json
        engine.client.write(
            .overwrite(path, Node(.deferred(.increment(LeafNumber(3))))), committed: { _ in },
            acknowledged: { _ in })
        engine.increment(path.text, as: "t")
        let base: Int64 = if case .integer(let number) = before { number } else { 0 }
        model.set(path.map(\.text), to: PlainTree(.integer(base + 4)))
    }

    private mutating func query() throws -> QuerySpec {
        var builder = QueryBuilder()
        switch random.below(3) {
        case 0: break
        case 1: builder = try builder.ordered(by: .key).limited(toLast: 1 + random.below(2))
        default: builder = try builder.ordered(by: .value).limited(toFirst: 1 + random.below(2))
        }
        return QuerySpec(path(), builder.parameters)
    }

    private mutating func listen() throws {
        let query = try query()
        log.append("listen \(query)")
        let value = Box<PlainTree?>(nil)
        let id = ListenerID(UInt(1_000 + log.count))
        engine.client.listen(to: query, Listener(id, [.value])) { event in
            if case .value(let node) = event.change { value.withLock { $0 = PlainTree(node) } }
        }
        listeners.append(Watched(id: id, query: query, value: value))
    }

    /// The server says something of everything that a listener of the root has.
    private mutating func pushFromServer() throws {
        guard let connection = engine.server.connections.last, !connection.isClosed else { return }
        log.append("push")
        let id = engine.listen("s")
        connection.push(.overwrite(TreePath("s"), node(), tag: nil))
        engine.scheduler.drain()
        engine.client.removeListener(id, from: QuerySpec(TreePath("s")))
    }

    private mutating func reopen() throws {
        log.append("reopen")
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        ended += listeners.map(\.query)
        listeners = []
        engine = try Self.open(store, isFull, isLocal: isLocal)
    }

    private func expected(_ query: QuerySpec) throws -> JSONValue {
        let node = try Node(exported: model[query.path.map(\.text)].json)
        return PlainTree(query.parameters.filtered(node)).json
    }

    private mutating func compare() throws {
        let roots = isLocal ? ["", "s"] + Self.roots : Self.roots
        for query in roots.map({ QuerySpec(TreePath($0)) }) + ended {
            let found = Box<Node?>(nil)
            engine.client.get(query) { result in
                found.withLock { $0 = (try? result.get())?.node }
            }
            engine.scheduler.drain()
            #expect(
                found.withLock { $0 }.map { PlainTree($0).json } == (try expected(query)),
                "\(random) \(log) \(query)")
        }
        for watched in listeners {
            #expect(
                watched.value.withLock { $0 }?.json == (try expected(watched.query)),
                "\(random) \(log) \(watched.query)")
        }
        for connection in engine.server.connections {
            for request in connection.read() {
                #expect(!request.request.text.contains(Self.mark), "\(random) \(log)")
            }
        }
        #expect(try store.check().isClean, "\(random) \(log)")
    }
}
