import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeStore
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

/// Text that does not compress.
func incompressibleText(_ length: Int, _ random: inout SeededRandom) -> String {
    String((0..<length).map { _ in Character(UnicodeScalar(UInt8(32 + random.below(90)))) })
}

extension EngineUnderTest {
    /// Answers every request that was sent.
    func answerAll() throws {
        scheduler.drain()
        for request in try connection.read() { try connection.answer(request.number) }
        scheduler.drain()
    }

    /// Listens to a location that the server has.
    func observe(_ path: String, _ node: Node) throws -> ListenerID {
        let id = listen(path)
        try connection.push(.overwrite(TreePath(path), node, tag: nil))
        try answerAll()
        return id
    }

    func stop(_ id: ListenerID, _ path: String) throws {
        client.removeListener(id, from: QuerySpec(TreePath(path)))
        try answerAll()
    }

    /// Listens to a location until the server has sent it.
    func fetch(_ path: String, _ node: Node = Node(.string("content"))) throws {
        try stop(try observe(path, node), path)
    }

    /// Replaces the cache rules.
    func setRules(_ rules: TreeCacheRule...) throws {
        try setRules(TreeCacheRules(rules))
    }

    func setRules(_ rules: TreeCacheRules) throws {
        let box = Box<Result<Void, LarderError>?>(nil)
        client.setCacheRules(rules) { result in box.withLock { $0 = result } }
        scheduler.drain()
        try #require(box.withLock { $0 }).get()
    }

    /// Those of some locations that are known as a whole.
    func complete(_ paths: String...) -> [String] {
        paths.filter { path in
            let box = Box(false)
            client.freshness(of: QuerySpec(TreePath(path))) { result in
                box.withLock { $0 = (try? result.get())?.isComplete == true }
            }
            scheduler.drain()
            return box.withLock { $0 }
        }
    }
}

extension Store {
    /// The content of a location of the one tree of a client's store.
    func content(at path: String) throws -> Node {
        try read { transaction throws(LarderError) in
            guard let tree = try transaction.tree(named: "database") else { return .empty }
            return try transaction.node(at: TreePath(path), in: tree)
        }
    }

    /// The tracked queries of the one tree of a client's store.
    func queries() throws -> [TrackedQuery] {
        try read { transaction throws(LarderError) in
            guard let tree = try transaction.tree(named: "database") else { return [] }
            return try transaction.trackedQueries(in: tree)
        }
    }
}

@Suite("Cache rules of a database")
struct DatabaseCacheRulesTests {
    private let store: Store
    private let engine: EngineUnderTest

    init() throws {
        store = try Store(.inMemory())
        engine = try EngineUnderTest(.inMemory(), store: store)
        try engine.connect()
    }

    private func reopen(
        _ engine: EngineUnderTest, rules: TreeCacheRules? = nil
    ) throws -> EngineUnderTest {
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        let next = try EngineUnderTest(
            .inMemory(), store: store, clock: engine.scheduler.clock
        ) { $0.cacheRules = rules }
        try next.connect()
        return next
    }

    // MARK: Pinned

    @Test("pinned locations are not evicted, and a deeper rule exempts from that")
    func pinned() throws {
        try engine.setRules(
            TreeCacheRule(TreePath("menus"), isPinned: true), TreeCacheRule(TreePath("menus/old")))
        for path in ["menus/today", "menus/old/1", "other"] { try engine.fetch(path) }
        engine.evict()
        #expect(engine.complete("menus/today", "menus/old/1", "other") == ["menus/today"])
        #expect(try !store.content(at: "menus/today").isEmpty)
        #expect(try store.content(at: "menus/old").isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("a pinned location that was cached with one above it stays when that one is evicted")
    func pinnedBelow() throws {
        try engine.setRules(TreeCacheRule(TreePath("a/menus"), isPinned: true))
        let node = try Node(
            validating: .object([
                JSONMember("menus", .object([JSONMember("x", .integer(1))])),
                JSONMember("y", .integer(2)),
            ]), at: .root)
        try engine.fetch("a", node)
        engine.evict()
        #expect(engine.complete("a", "a/menus", "a/menus/x", "a/y") == ["a/menus", "a/menus/x"])
        #expect(try store.content(at: "a").text == #"{"menus":{"x":1}}"#)
        // A rule at run time finds what is cached already.
        try engine.setRules()
        try engine.fetch("a", node)
        try engine.setRules(TreeCacheRule(TreePath("a/y"), isPinned: true))
        engine.evict()
        #expect(engine.complete("a", "a/menus", "a/y") == ["a/y"])
        #expect(try store.content(at: "a").text == #"{"y":2}"#)
        #expect(try store.check().isClean)
    }

    @Test("pins end with their rule, also when it was replaced before a restart")
    func unpinned() throws {
        try engine.setRules(TreeCacheRule(.root, isPinned: true))
        try engine.fetch("a")
        let second = try reopen(engine)
        second.evict()
        #expect(second.complete("a") == ["a"])
        let third = try reopen(second, rules: TreeCacheRules())
        third.evict()
        #expect(third.complete("a").isEmpty)
        #expect(try store.queries().isEmpty && store.content(at: "").isEmpty)
    }

    // MARK: Never cached

    @Test("what is never cached goes with its last listener, also its content")
    func neverCached() throws {
        try engine.setRules(
            TreeCacheRule(TreePath("tokens"), isNeverCached: true),
            TreeCacheRule(TreePath("tokens/public")))
        let first = try engine.observe("tokens/a", Node(.string("secret")))
        let second = engine.listen("tokens/a", as: "second")
        try engine.fetch("tokens/public/k")
        try engine.fetch("other")
        try engine.stop(first, "tokens/a")
        #expect(try store.content(at: "tokens/a").text == #""secret""#)
        try engine.stop(second, "tokens/a")
        #expect(try store.content(at: "tokens/a").isEmpty)
        #expect(
            engine.complete("tokens/a", "tokens/public/k", "other") == ["tokens/public/k", "other"])
        #expect(try store.queries().count == 2)
        // It is unknown, not empty.
        engine.client.goOffline()
        _ = engine.read()
        engine.listen("tokens/a")
        #expect(engine.read().isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("windows, gets and accepted writes of what is never cached go, too")
    func neverCachedOtherwise() throws {
        try engine.setRules(TreeCacheRule(TreePath("s"), isNeverCached: true))
        let window = QuerySpec(TreePath("s/list"), try QueryBuilder().limited(toLast: 1).parameters)
        let id = engine.listen(window, [.value])
        let list = try Node(validating: .object([JSONMember("x", .integer(1))]), at: .root)
        try engine.connection.push(.overwrite(TreePath("s/list"), list, tag: 1))
        try engine.answerAll()
        #expect(try store.content(at: "s").text == #"{"list":{"x":1}}"#)
        engine.client.removeListener(id, from: window)
        try engine.answerAll()
        #expect(try store.content(at: "s").isEmpty)

        engine.get(QuerySpec(TreePath("s/got")))
        for request in try engine.connection.read() {
            try engine.connection.answer(request.number, payload: .node(Node(.integer(7))))
        }
        #expect(engine.read().last == "get: 7")
        #expect(try store.content(at: "s").isEmpty)

        try engine.set("s/written", .integer(1))
        try engine.set(
            "s/counter",
            .object([
                JSONMember(
                    ".sv",
                    .object([
                        JSONMember("increment", .integer(1))
                    ]))
            ]))
        #expect(try store.content(at: "s").isEmpty)
        try engine.answerAll()
        #expect(try store.content(at: "s").isEmpty)
        #expect(try store.queries().isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("a rule at run time evicts what is cached, but not under a listener or a pending write")
    func runTime() throws {
        for path in ["a/1", "a/2", "b"] { try engine.fetch(path) }
        let id = try engine.observe("a/1", Node(.integer(1)))
        engine.client.goOffline()
        engine.scheduler.drain()
        try engine.set("a/2", .integer(5))
        try engine.setRules(TreeCacheRule(TreePath("a"), isNeverCached: true))
        #expect(engine.complete("a/1", "b") == ["a/1", "b"])
        #expect(try store.queries().map(\.query.path.text).sorted() == ["a/1", "b"])
        #expect(engine.pending == [#"/a/2=["5"]"#])
        _ = engine.read()
        engine.listen("a/2", as: "write")
        #expect(engine.read() == ["write: value 5"])
        engine.client.removeListener(id, from: QuerySpec(TreePath("a/1")))
        engine.scheduler.drain()
        #expect(try store.content(at: "a/1").isEmpty)
        #expect(try store.check().isClean)
    }

    @Test("what is in use below a location that goes stays known as a whole")
    func belowEvicted() throws {
        let node = try Node(
            validating: .object([JSONMember("x", .integer(1)), JSONMember("y", .integer(2))]),
            at: .root)
        try engine.fetch("a", node)
        engine.client.goOffline()
        engine.scheduler.drain()
        engine.listen("a/x")
        _ = engine.read()
        try engine.setRules(
            TreeCacheRule(TreePath("a"), isNeverCached: true), TreeCacheRule(TreePath("a/x")))
        #expect(try store.content(at: "a").text == #"{"x":1}"#)
        let second = try reopen(engine)
        #expect(second.complete("a", "a/x", "a/y") == ["a/x"])
        #expect(try store.check().isClean)
    }

    @Test("keepSynced keeps what is otherwise never cached")
    func keptInSync() throws {
        try engine.setRules(TreeCacheRule(TreePath("a"), isNeverCached: true))
        engine.client.keepSynced(QuerySpec(TreePath("a")), true)
        engine.scheduler.drain()
        try engine.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try engine.answerAll()
        try engine.fetch("a", Node(.integer(2)))
        #expect(try store.content(at: "a").text == "2")
        engine.client.keepSynced(QuerySpec(TreePath("a")), false)
        try engine.answerAll()
        #expect(try store.content(at: "a").isEmpty)
    }

    // MARK: Ages

    @Test("what is too old goes at the next check, and never earlier")
    func ages() throws {
        try engine.fetch("old/a")
        engine.advance(by: .seconds(100))
        try engine.setRules(TreeCacheRule(TreePath("old"), maximumAge: .seconds(160)))
        try engine.fetch("old/b")
        try engine.fetch("new")
        engine.advance(by: .seconds(60))
        #expect(engine.complete("old/a", "old/b") == ["old/a", "old/b"])
        engine.advance(by: .seconds(10))
        #expect(engine.complete("old/a", "old/b", "new") == ["old/b", "new"])
        #expect(try store.content(at: "old/a").isEmpty)
        let id = try engine.observe("old/b", Node(.integer(1)))
        engine.advance(by: .seconds(400))
        #expect(engine.complete("old/b") == ["old/b"])
        try engine.stop(id, "old/b")
        engine.advance(by: .seconds(150))
        #expect(engine.complete("old/b") == ["old/b"])
        engine.advance(by: .seconds(30))
        #expect(engine.complete("old/b", "new") == ["new"])
        #expect(try store.check().isClean)
    }

    @Test("ages count while the database is closed")
    func agesAcrossRestarts() throws {
        try engine.setRules(TreeCacheRule(.root, maximumAge: .seconds(100)))
        try engine.fetch("a")
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        engine.scheduler.clock.advance(by: .seconds(90))
        let second = try reopen(engine)
        #expect(second.complete("a") == ["a"])
        second.client.terminate { _ in }
        second.scheduler.drain()
        engine.scheduler.clock.advance(by: .seconds(20))
        let third = try reopen(second)
        #expect(third.complete("a").isEmpty)
        #expect(try store.queries().isEmpty && store.content(at: "").isEmpty)
    }

    // MARK: Sizes

    private func size(of path: String) throws -> Int64 {
        try store.read { transaction throws(LarderError) in
            let usage = try transaction.cacheRuleUsage(ofTree: "database")
            return usage.first { $0.rule.path == TreePath(path) }?.sizeBytes ?? -1
        }
    }

    @Test("above its size a rule's least recently used queries go, and those of no other")
    func sizes() throws {
        var random = SeededRandom(seed: 5)
        try engine.setRules(
            TreeCacheRule(TreePath("logs"), maximumBytes: 100_000),
            TreeCacheRule(TreePath("logs/kept")))
        try engine.fetch("logs/kept/1", Node(.string(incompressibleText(60_000, &random))))
        try engine.fetch("other", Node(.string(incompressibleText(60_000, &random))))
        for number in 1...30 {
            engine.scheduler.clock.advance(by: .milliseconds(5))
            try engine.fetch("logs/\(number)", Node(.string(incompressibleText(9_000, &random))))
            #expect(try size(of: "logs") <= 107_000)
        }
        let left = try store.queries().compactMap { query in
            query.query.path.first?.text == "logs" ? Int(query.query.path.last?.text ?? "") : nil
        }.filter { $0 != 1 || engine.complete("logs/1") == ["logs/1"] }.sorted()
        #expect(left.count >= 7 && left.count <= 13)
        #expect(Set(left).isSubset(of: Set(15...30).union([1])) && left.contains(30))
        #expect(engine.complete("logs/kept/1", "other", "logs/1") == ["logs/kept/1", "other"])
        // A smaller size takes effect at once.
        try engine.setRules(TreeCacheRule(TreePath("logs"), maximumBytes: 30_000))
        #expect(try size(of: "logs") <= 30_000)
        #expect(try store.check().isClean)
    }

    @Test("data of listeners may exceed the size, and goes once they end")
    func sizeUnderListeners() throws {
        var random = SeededRandom(seed: 6)
        try engine.setRules(TreeCacheRule(TreePath("a"), maximumBytes: 20_000))
        var ids: [ListenerID] = []
        for number in 0..<5 {
            let node = Node(.string(incompressibleText(9_000, &random)))
            ids.append(try engine.observe("a/\(number)", node))
        }
        #expect(try size(of: "a") > 40_000)
        for (number, id) in ids.enumerated() {
            #expect(engine.complete("a/\(number)").count == 1)
            engine.scheduler.clock.advance(by: .milliseconds(5))
            try engine.stop(id, "a/\(number)")
        }
        #expect(try size(of: "a") <= 20_000)
        #expect(engine.complete("a/0", "a/4") == ["a/4"])
        #expect(try store.check().isClean)
    }

    // MARK: Setting rules

    @Test("rules are stored: nil keeps those of the store, others replace them")
    func configured() throws {
        let rules = try TreeCacheRules([TreeCacheRule(TreePath("a"), isNeverCached: true)])
        let second = try reopen(engine, rules: rules)
        try second.fetch("a")
        #expect(try store.queries().isEmpty)
        let third = try reopen(second)
        try third.fetch("a")
        #expect(try store.queries().isEmpty)
        let fourth = try reopen(third, rules: TreeCacheRules())
        try fourth.fetch("a")
        #expect(try store.queries().count == 1)
        let fifth = try reopen(fourth, rules: rules)
        #expect(try store.queries().isEmpty && store.content(at: "").isEmpty)
        _ = fifth
        #expect(try store.check().isClean)
    }

    @Test("what a crash left between a rule's change and its evictions goes at the next start")
    func crash() throws {
        for path in ["a/1", "a/2", "b"] { try engine.fetch(path) }
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        // The rule is stored, a query is removed, and no sweep was made.
        try store.write { transaction throws(LarderError) in
            let rules = try TreeCacheRules([
                TreeCacheRule(TreePath("a"), isNeverCached: true),
                TreeCacheRule(TreePath("b"), isPinned: true),
            ])
            try transaction.setCacheRules(rules, ofTree: "database")
            let tree = try transaction.obtainTree(named: "database")
            try transaction.removeTrackedQuery(TrackedQueryID(1), in: tree)
        }
        let second = try reopen(engine)
        #expect(try store.content(at: "").text == #"{"b":"content"}"#)
        second.evict()
        #expect(second.complete("a/1", "a/2", "b") == ["b"])
        #expect(try store.check().isClean)
    }

    @Test("rules that the disk refuses are not in force")
    func refused() throws {
        let fails = Box(false)
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        let second = try EngineUnderTest(.inMemory(), store: store) { configuration in
            configuration.guarding = { () throws(LarderError) in
                if fails.withLock({ $0 }) {
                    throw LarderError(realtime: .resourceExhausted, "the disk is full")
                }
            }
        }
        try second.connect()
        try second.fetch("a")
        fails.withLock { $0 = true }
        #expect(throws: LarderError.self) {
            try second.setRules(TreeCacheRule(TreePath("a"), isNeverCached: true))
        }
        fails.withLock { $0 = false }
        second.advance(by: .seconds(2))
        #expect(second.complete("a") == ["a"])
        #expect(
            try store.read { transaction throws(LarderError) in
                try transaction.cacheRules(ofTree: "database").isEmpty
            })
    }

    @Test("a database without a cache has no rules")
    func withoutStore() throws {
        let engine = try EngineUnderTest()
        let error = #expect(throws: LarderError.self) {
            try engine.setRules(TreeCacheRule(.root, isPinned: true))
        }
        #expect(error?.kind == .failedPrecondition)
    }

    @Test("rules that cannot be read are logged, and the database works without them")
    func damaged() throws {
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        try store.write { transaction throws(LarderError) in
            try transaction.putNamedValue(.global, "treeCacheRules/database", [1, 2])
        }
        let second = try reopen(engine)
        #expect(second.warnings.withLock { $0.contains { $0.contains("cannot be read") } })
        try second.fetch("a")
        #expect(second.complete("a") == ["a"])
        try second.setRules(TreeCacheRule(TreePath("a"), isNeverCached: true))
        #expect(second.complete("a").isEmpty)
    }
}
