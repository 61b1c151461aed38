import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeStore
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport
import LarderStorage
import Testing

extension EngineUnderTest {
    /// Replaces a node; its stages are recorded.
    func put(_ path: String, _ text: String, as name: String) throws {
        write(.overwrite(TreePath(path), try Node(parsing: text)), as: name)
    }

    /// Replaces several nodes below a location; its stages are recorded.
    func merge(_ path: String, _ values: [String: String], as name: String) throws {
        let values = try values.sorted { $0.key < $1.key }.map {
            PathValue(TreePath($0.key), try Node(parsing: $0.value))
        }
        write(.merge(TreePath(path), values), as: name)
    }

    /// The text of the error that rules are refused with; nil if they are set.
    func refusal(of rules: TreeCacheRule...) -> String? {
        do {
            try setRules(TreeCacheRules(rules))
            return nil
        } catch {
            return (error as? LarderError).map { "\($0.kind): \($0.message)" } ?? "\(error)"
        }
    }
}

@Suite("Locations that are local only")
struct LocalOnlyTests {
    private let store: Store
    private let engine: EngineUnderTest
    private let isFull = Box(false)

    private static let drafts = TreeCacheRule(TreePath("app/drafts"), isLocalOnly: true)

    init() throws {
        store = try Store(.inMemory())
        engine = try Self.open(store, isFull)
        try engine.connect()
        try engine.setRules(Self.drafts)
    }

    private static func open(
        _ store: Store, _ isFull: Box<Bool> = Box(false), clock: ManualClock = ManualClock(),
        rules: TreeCacheRules? = nil
    ) throws -> EngineUnderTest {
        try EngineUnderTest(.inMemory(), store: store, clock: clock) { configuration in
            configuration.cacheRules = rules
            configuration.guarding = { () throws(LarderError) in
                if isFull.withLock({ $0 }) {
                    throw LarderError(realtime: .resourceExhausted, "the disk is full")
                }
            }
        }
    }

    private func reopen(rules: TreeCacheRules? = nil) throws -> EngineUnderTest {
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        let next = try Self.open(store, clock: engine.scheduler.clock, rules: rules)
        try next.connect()
        return next
    }

    private func sent() throws -> [String] { try engine.connection.readText() }

    // MARK: Writing and reading

    @Test("writes are made at once, are never sent, and are there after reopening")
    func writes() throws {
        engine.listen("app/drafts", as: "drafts")
        #expect(engine.read() == ["drafts: value null"])
        try engine.put("app/drafts/a", #"{"text":"x","n":1}"#, as: "one")
        #expect(
            engine.read() == [
                #"drafts: childAdded a {"n":1,"text":"x"}"#,
                #"drafts: value {"a":{"n":1,"text":"x"}}"#, "one made", "one acknowledged",
            ])
        try engine.merge("app/drafts", ["a/n": "2", "b": "true"], as: "two")
        #expect(engine.read().suffix(2) == ["two made", "two acknowledged"])
        try engine.put("app/drafts/a/text", "null", as: "three")
        engine.get(QuerySpec(TreePath("app/drafts")))
        #expect(engine.read().last == #"get: {"a":{"n":2},"b":true} from cache"#)
        #expect(try sent().isEmpty)

        let next = try reopen()
        next.get(QuerySpec(TreePath("app/drafts/a/n")))
        #expect(next.read() == ["get: 2 from cache"])
        next.listen("app/drafts/b", as: "b")
        #expect(next.read() == ["b: value true"])
        #expect(try next.connection.readText().isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("writes have no number, and are not among the pending ones")
    func numbers() throws {
        let numbers = Box<[WriteID?]>([])
        let pending = Box<Int?>(nil)
        for path in ["app/drafts/a", "app/b"] {
            engine.client.write(
                .overwrite(TreePath(path), Node(.integer(1))),
                committed: { result in
                    if case .success(let id) = result { numbers.withLock { $0.append(id) } }
                },
                acknowledged: { _ in })
        }
        engine.client.pendingWrites { result in
            pending.withLock { $0 = try? result.get().count }
        }
        engine.scheduler.drain()
        #expect(Set(numbers.withLock { $0 }) == [nil, WriteID(1)])
        #expect(pending.withLock { $0 } == 1)
        #expect(try sent() == ["1 put /app/b 1"])
    }

    @Test("server values are computed with the time of the server, and with earlier writes")
    func serverValues() throws {
        let path = TreePath("app/drafts/n")
        engine.listen("app/drafts", as: "drafts")
        _ = engine.read()
        for _ in 0..<3 {
            engine.client.write(
                .overwrite(path, Node(.deferred(.increment(.init(5))))), committed: { _ in },
                acknowledged: { _ in })
        }
        engine.client.write(
            .merge(
                TreePath("app/drafts"),
                [
                    PathValue(TreePath("at"), Node(.deferred(.timestamp))),
                    PathValue(TreePath("n"), Node(.deferred(.increment(.init(1))))),
                ]), committed: { _ in }, acknowledged: { _ in })
        let events = engine.read().filter { $0.hasPrefix("drafts: value") }
        #expect(
            events == [
                #"drafts: value {"n":5}"#, #"drafts: value {"n":10}"#, #"drafts: value {"n":15}"#,
                #"drafts: value {"at":1700000000000,"n":16}"#,
            ])
    }

    @Test("transactions run once, on what was written before them")
    func transactions() throws {
        try engine.put("app/drafts/n", "7", as: "set")
        engine.increment("app/drafts/n", as: "first")
        engine.increment("app/drafts/n", as: "second")
        #expect(
            engine.read() == [
                "set made", "set acknowledged", "first sees 7", "first committed 8",
                "second sees 8", "second committed 9",
            ])
        let log = Box<[String]>([])
        engine.client.runTransaction(at: TreePath("app/drafts/n"), localEvents: false) { _ in
            nil
        } completion: { result in
            log.withLock {
                $0 = [(try? result.get()).map { "\($0.isCommitted) \($0.node.text)" } ?? "failed"]
            }
        }
        engine.scheduler.drain()
        #expect(log.withLock { $0 } == ["false 9"])
        #expect(try sent().isEmpty)
    }

    @Test("requests of one turn see the writes before them")
    func oneTurn() throws {
        let client = engine.client
        let log = Box<[String]>([])
        let path = TreePath("app/drafts")
        @Sendable func note(_ line: String) { log.withLock { $0.append(line) } }
        func set(_ number: Int64) {
            client.write(
                .overwrite(path, Node(.integer(number))),
                committed: { _ in note("made \(number)") },
                acknowledged: { _ in })
        }
        set(1)
        client.listen(to: QuerySpec(path), Listener(ListenerID(9), [.value])) { event in
            if case .value(let node) = event.change { note("value \(node.text)") }
        }
        set(2)
        client.get(QuerySpec(path)) { result in
            note("got \((try? result.get())?.node.text ?? "nothing")")
        }
        set(3)
        client.runTransaction(at: path, localEvents: true) { node in
            note("sees \(node.text)")
            return Node(.integer(4))
        } completion: { _ in
        }
        client.setCacheRules(TreeCacheRules()) { result in note(result.text("set")) }
        engine.scheduler.drain()
        #expect(
            log.withLock { $0 } == [
                "sees 3", "made 1", "value 1", "value 2", "made 2", "got 2", "value 3", "made 3",
                "value 4", "failed: failedPrecondition",
            ])
        client.removeListener(ListenerID(9), from: QuerySpec(path))
        try engine.setRules()
        try engine.setRules(Self.drafts)
        engine.get(QuerySpec(path))
        #expect(engine.read() == ["get: 4 from cache"])
    }

    @Test("windows are refilled from the location")
    func windows() throws {
        try engine.put("app/drafts", #"{"a":1,"b":2,"c":3,"d":4}"#, as: "set")
        let query = QuerySpec(
            TreePath("app/drafts"),
            try QueryBuilder().ordered(by: .value).limited(toLast: 2).parameters)
        _ = engine.read()
        let id = engine.listen(query, as: "top", [.value])
        #expect(engine.read() == [#"top: value {"c":3,"d":4}"#])
        try engine.put("app/drafts/d", "null", as: "")
        try engine.put("app/drafts/a", "9", as: "")
        #expect(
            engine.read().filter { $0.hasPrefix("top") }
                == [#"top: value {"b":2,"c":3}"#, #"top: value {"a":9,"c":3}"#])
        engine.get(query)
        #expect(engine.read() == [#"get: {"a":9,"c":3} from cache"#])
        engine.client.removeListener(id, from: query)
        try engine.put("app/drafts/c", "null", as: "")
        #expect(engine.read() == [" made", " acknowledged"])
        engine.get(query)
        #expect(engine.read() == [#"get: {"a":9,"b":2} from cache"#])
        #expect(try sent().isEmpty)
    }

    @Test("many listeners of windows come and go at one location")
    func windowListeners() throws {
        let query = QuerySpec(
            TreePath("app/drafts"),
            try QueryBuilder().ordered(by: .key).limited(toFirst: 1).parameters)
        let (first, second) = (
            engine.listen(query, as: "1", [.value]), engine.listen(query, as: "2", [.value])
        )
        engine.client.removeListener(first, from: QuerySpec(TreePath("app/drafts")))
        try engine.put("app/drafts", #"{"a":1,"b":2}"#, as: "")
        try engine.put("app/drafts/a", "null", as: "")
        #expect(
            engine.read().filter { $0.hasPrefix("2: value {") }
                == [#"2: value {"a":1}"#, #"2: value {"b":2}"#])
        engine.client.removeListener(second, from: query)
        engine.scheduler.drain()
        // Nothing is in use: the rules can change.
        try engine.setRules()
    }

    // MARK: The server's part

    @Test("a location above is the server's, without what is local only")
    func above() throws {
        try engine.put("app/drafts/a", "1", as: "local")
        engine.listen("app", as: "app")
        #expect(try sent() == ["1 listen /app"])
        try engine.connection.push(
            .overwrite(
                TreePath("app"), try Node(parsing: #"{"drafts":"server's","x":1}"#), tag: nil))
        try engine.connection.answer(1)
        #expect(engine.read().last == #"app: value {"drafts":"server's","x":1}"#)
        engine.get(QuerySpec(TreePath("app/drafts")))
        #expect(engine.read() == [#"get: {"a":1} from cache"#])
        try engine.put("app", #"{"x":2}"#, as: "app")
        try engine.put("app/x", "3", as: "x")
        #expect(try sent() == [#"2 put /app {"x":2}"#, "3 put /app/x 3"])
        _ = engine.read()
        engine.get(QuerySpec(TreePath("app/drafts")))
        #expect(engine.read() == [#"get: {"a":1} from cache"#])
    }

    @Test("what would send local data is refused, and changes nothing")
    func refusals() throws {
        engine.listen("app", as: "app")
        _ = engine.read()
        _ = try sent()
        try engine.put("app", #"{"drafts":{"a":1},"x":1}"#, as: "above")
        try engine.put("", #"{"app":{"drafts":2}}"#, as: "root")
        try engine.merge("app", ["drafts/a": "1", "x": "1"], as: "mixed")
        try engine.merge("", ["app": #"{"drafts":1}"#, "b": "1"], as: "nested")
        let invalid = "failed: invalidArgument"
        #expect(
            engine.read() == [
                "above \(invalid)", "root \(invalid)", "mixed \(invalid)", "nested \(invalid)",
            ])
        let log = Box<[String]>([])
        engine.client.runTransaction(at: TreePath("app"), localEvents: true) {
            (_) throws(LarderError) in
            Node(children: [Child(ChildKey("drafts"), Node(.integer(1)))])
        } completion: { result in
            log.withLock { $0.append(result.text("committed")) }
        }
        engine.scheduler.drain()
        #expect(log.withLock { $0 } == [invalid])
        engine.arm(.put(TreePath("app/drafts/a"), Node(.integer(1))), as: "put")
        engine.arm(
            .merge(TreePath("app"), [PathValue(TreePath("drafts"), Node(.integer(1)))]), as: "merge"
        )
        engine.arm(
            .put(TreePath("app"), Node(children: [Child(ChildKey("drafts"), Node(.integer(1)))])),
            as: "above")
        engine.arm(.cancel(TreePath("app/drafts")), as: "cancel")
        #expect(
            engine.read() == [
                "put \(invalid)", "merge \(invalid)", "above \(invalid)",
            ])
        try engine.put("app", #"{"x":1}"#, as: "plain")
        #expect(
            try sent().filter { !$0.contains("cancel") } == [#"3 put /app {"x":1}"#])
    }

    @Test("writes that wait are sent, although their location is local only now")
    func pendingBefore() throws {
        try engine.setRules()
        engine.client.goOffline()
        try engine.put("app/drafts/a", "1", as: "before")
        #expect(engine.read() == ["before made"])
        try engine.setRules(Self.drafts)
        engine.get(QuerySpec(TreePath("app/drafts")))
        #expect(engine.read() == ["get: null from cache"])
        engine.client.goOnline()
        engine.scheduler.drain()
        try engine.connect(session: "s2")
        #expect(try sent() == ["1 put /app/drafts/a 1"])
    }

    // MARK: Keeping

    @Test("nothing of it is evicted, and its space is told")
    func eviction() throws {
        var random = SeededRandom()
        let text = incompressibleText(50_000, &random)
        try engine.set("app/drafts/a", .string(text))
        let next = try reopen()
        next.evict()
        next.get(QuerySpec(TreePath("app/drafts/a")))
        #expect(next.read().last == "get: \(Node(.string(text)).text) from cache")
        let usages = try store.read { transaction throws(LarderError) in
            try transaction.cacheRuleUsage(ofTree: "database")
        }
        #expect(usages.map(\.isLocalOnly) == [true])
        #expect(usages[0].trackedQueryCount == 0)
        #expect(usages[0].sizeBytes > 40_000)
        // Listeners leave nothing behind.
        for path in ["app/drafts/a", "app/drafts/b"] {
            next.client.removeListener(next.listen(path), from: QuerySpec(TreePath(path)))
        }
        try next.set("app/drafts/b", .integer(1))
        let tracked = try store.read { transaction throws(LarderError) in
            let name = TreeCacheRules.localTreeName(of: "database")
            guard let tree = try transaction.tree(named: name) else { return [TrackedQuery]() }
            return try transaction.trackedQueries(in: tree)
        }
        #expect(tracked.map(\.query.path) == [.root])
        #expect(tracked.allSatisfy { $0.isPinned && $0.isComplete })
        #expect(
            next.complete("app/drafts", "app/drafts/a/b", "app") == [
                "app/drafts", "app/drafts/a/b",
            ])
        #expect(try store.check().isClean)
    }

    @Test("a salvaged store has it, and keeps it even if what was complete is lost")
    func salvage() throws {
        let directory = try TemporaryDirectory()
        func storage(_ name: String) -> StoreConfiguration {
            var storage = StoreConfiguration(directory: directory.file(name))
            storage.mapBytes = StoreConfiguration.modestMapBytes
            return storage
        }
        let first = try EngineUnderTest(storage("first"), isLocal: true)
        try first.setRules(Self.drafts)
        var random = SeededRandom()
        let text = incompressibleText(20_000, &random)
        try first.set("app/drafts/a", .string(text))
        first.client.terminate { _ in }
        first.scheduler.drain()
        let report = try Store.salvage(
            directory: directory.file("first"), into: directory.file("second"))
        #expect(report.isComplete)
        let salvaged = try Store(storage("second"))
        for isLost in [false, true] {
            if isLost {
                try salvaged.write { transaction throws(LarderError) in
                    let name = TreeCacheRules.localTreeName(of: "database")
                    let tree = try transaction.obtainTree(named: name)
                    for query in try transaction.trackedQueries(in: tree) {
                        try transaction.removeTrackedQuery(query.id, in: tree)
                    }
                }
            }
            let second = try EngineUnderTest(storage("second"), store: salvaged, isLocal: true)
            second.evict()
            second.get(QuerySpec(TreePath("app/drafts/a")))
            #expect(second.read().last == "get: \(Node(.string(text)).text) from cache")
            second.client.terminate { _ in }
            second.scheduler.drain()
            #expect(try salvaged.check().isClean)
        }
    }

    @Test("data is kept while its rule is away, and shown again with it")
    func ruleComesAndGoes() throws {
        try engine.put("app/drafts/a", "1", as: "local")
        try engine.setRules()
        _ = engine.read()
        engine.listen("app/drafts", as: "server")
        #expect(try sent() == ["1 listen /app/drafts"])
        engine.evict()
        #expect(
            engine.refusal(of: Self.drafts)
                == "failedPrecondition: the cache rules change whether /app/drafts is local only, "
                + "which is in use; remove its observers first")
        engine.client.removeListener(ListenerID(1), from: QuerySpec(TreePath("app/drafts")))
        try engine.setRules(Self.drafts)
        _ = engine.read()
        let id = engine.listen("app/drafts", as: "local")
        #expect(engine.read() == ["local: childAdded a 1", #"local: value {"a":1}"#])
        #expect(engine.refusal(of: TreeCacheRule(TreePath("x"), isLocalOnly: true)) != nil)
        #expect(engine.complete("app/drafts") == ["app/drafts"])
        // A rule further up leaves the location local only.
        try engine.setRules(TreeCacheRule(TreePath("app"), isLocalOnly: true))
        engine.client.removeListener(id, from: QuerySpec(TreePath("app/drafts")))
        engine.get(QuerySpec(TreePath("app")))
        #expect(engine.read() == [#"get: {"drafts":{"a":1}} from cache"#])
    }

    @Test("a location that is kept in sync is in use")
    func keptInSync() throws {
        engine.client.keepSynced(QuerySpec(TreePath("app/other")), true)
        engine.client.keepSynced(QuerySpec(TreePath("app/drafts")), true)
        engine.scheduler.drain()
        #expect(try sent() == ["1 listen /app/other"])
        #expect(engine.refusal(of: TreeCacheRule(TreePath("app"), isLocalOnly: true)) != nil)
        engine.client.keepSynced(QuerySpec(TreePath("app/other")), false)
        engine.client.keepSynced(QuerySpec(TreePath("app/drafts")), false)
        try engine.setRules(TreeCacheRule(TreePath("app"), isLocalOnly: true))
    }

    @Test("the whole database can be local only, apart from what the client says of itself")
    func root() throws {
        try engine.setRules(TreeCacheRule(.root, isLocalOnly: true))
        try engine.put("", #"{"a":1}"#, as: "root")
        engine.listen(QuerySpec(TreePath(".info/connected")), as: "connected", [.value])
        #expect(engine.read() == ["root made", "root acknowledged", "connected: value true"])
        #expect(try sent().isEmpty)
    }

    // MARK: Failures

    @Test("a write that the disk refuses is not made, and nobody has seen it")
    func fullDisk() throws {
        try engine.put("app/drafts", #"{"a":1}"#, as: "one")
        engine.listen(QuerySpec(TreePath("app/drafts")), as: "drafts", [.value])
        _ = engine.read()
        isFull.withLock { $0 = true }
        try engine.put("app/drafts/a/b", "2", as: "two")
        engine.increment("app/drafts/a", as: "three")
        engine.get(QuerySpec(TreePath("app/drafts")))
        #expect(
            engine.read() == [
                "two failed: resourceExhausted", "three sees 1", "three failed: resourceExhausted",
                #"get: {"a":1} from cache"#,
            ])
        isFull.withLock { $0 = false }
        try engine.put("app/drafts/b", "3", as: "four")
        #expect(
            engine.read() == [#"drafts: value {"a":1,"b":3}"#, "four made", "four acknowledged"])
        let next = try reopen()
        next.get(QuerySpec(TreePath("app/drafts")))
        #expect(next.read() == [#"get: {"a":1,"b":3} from cache"#])
    }

    @Test("a refused write that cannot be made again stays among the refused ones")
    func retriedOnFullDisk() throws {
        func dead() -> [WriteID] {
            let list = Box<[WriteID]>([])
            engine.client.deadWrites { result in
                list.withLock { $0 = (try? result.get().map(\.id)) ?? [] }
            }
            engine.scheduler.drain()
            return list.withLock { $0 }
        }
        try engine.put("app/x", "1", as: "one")
        for request in try engine.connection.read() {
            try engine.connection.answer(request.number, .permissionDenied)
        }
        #expect(engine.read() == ["one made", "one failed: permissionDenied"])
        #expect(dead() == [WriteID(1)])
        for path in ["app/x", "app/drafts/x"] {
            isFull.withLock { $0 = true }
            let log = Box<[String]>([])
            func retry() {
                engine.client.write(
                    .overwrite(TreePath(path), Node(.integer(1))), insteadOf: WriteID(1),
                    committed: { result in log.withLock { $0.append(result.text("made")) } },
                    acknowledged: { _ in })
                engine.scheduler.drain()
            }
            retry()
            #expect(log.withLock { $0 } == ["failed: resourceExhausted"])
            isFull.withLock { $0 = false }
            engine.advance(by: .seconds(10))
            #expect(dead() == [WriteID(1)], "\(path)")
        }
        engine.client.write(
            .overwrite(TreePath("app/drafts/x"), Node(.integer(1))), insteadOf: WriteID(1),
            committed: { _ in }, acknowledged: { _ in })
        engine.scheduler.drain()
        #expect(dead().isEmpty)
    }

    @Test("stores that several clients share, and clients without a store, have no such rules")
    func unavailable() throws {
        let rules = try TreeCacheRules([Self.drafts])
        let withoutStore = #expect(throws: LarderError.self) {
            try EngineUnderTest { $0.cacheRules = rules }
        }
        #expect(withoutStore?.kind == .invalidArgument)
        let directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("s"))
        storage.mapBytes = StoreConfiguration.modestMapBytes
        let alone = try EngineUnderTest(storage)
        try alone.setRules(rules)
        alone.client.terminate { _ in }
        alone.scheduler.drain()
        storage.access = .shared
        let shared = #expect(throws: LarderError.self) { try EngineUnderTest(storage) }
        #expect(shared?.kind == .invalidArgument)
        #expect(shared?.message.contains("several processes share") == true)
        let without = try EngineUnderTest(storage) { $0.cacheRules = TreeCacheRules() }
        #expect(without.refusal(of: Self.drafts)?.hasPrefix("invalidArgument") == true)
    }

    @Test("rules that cannot be read do not make a location the server's")
    func unreadableRules() throws {
        try engine.put("app/drafts/a", "1", as: "local")
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        try store.write { transaction throws(LarderError) in
            try transaction.putNamedValue(.global, "treeCacheRules/database", Array("[".utf8))
        }
        let error = #expect(throws: LarderError.self) { try Self.open(store) }
        #expect(error?.kind == .dataLoss)
        let next = try Self.open(store, rules: TreeCacheRules([Self.drafts]))
        next.get(QuerySpec(TreePath("app/drafts/a")))
        #expect(next.read() == ["get: 1 from cache"])
    }
}
