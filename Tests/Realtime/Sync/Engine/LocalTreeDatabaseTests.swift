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

@Suite("A local database, as a tree")
struct LocalTreeDatabaseTests {
    private let store: Store
    private let clock = ManualClock()

    init() throws {
        store = try Store(.inMemory())
    }

    /// A client of the store; without a server, unless it is to be connected.
    private func open(
        isLocal: Bool = true, isConnected: Bool = false, localData: LocalData? = nil,
        rules: [TreeCacheRule]? = nil
    ) throws -> EngineUnderTest {
        let rules = try rules.map { try TreeCacheRules($0) }
        let engine = try EngineUnderTest(
            .inMemory(), store: store, isLocal: !isConnected, clock: clock
        ) { configuration in
            configuration.isLocal = isLocal && !isConnected
            configuration.localData = localData
            configuration.cacheRules = rules
        }
        if isConnected { try engine.connect() }
        return engine
    }

    private func close(_ engine: EngineUnderTest) {
        engine.client.terminate { _ in }
        engine.scheduler.drain()
    }

    private func role() throws -> StoreRole? {
        try store.read { (transaction) throws(LarderError) in try transaction.role() }
    }

    private func stored(_ name: String) throws -> String {
        try store.read { (transaction) throws(LarderError) in
            guard let tree = try transaction.tree(named: name) else { return "no tree" }
            return try transaction.node(at: .root, in: tree).text
        }
    }

    private func usage(_ engine: EngineUnderTest) throws -> DatabaseUsage {
        let usage = Box<DatabaseUsage?>(nil)
        engine.client.usage { result in usage.withLock { $0 = try? result.get() } }
        engine.scheduler.drain()
        return try #require(usage.withLock { $0 })
    }

    // MARK: Finality

    @Test("writes are final at their commit, and reads and listeners are no cache")
    func writes() throws {
        let engine = try open()
        engine.listen("a", as: "a")
        try engine.put("a/b", #"{"n": 1, ".priority": 3}"#, as: "put")
        try engine.merge("a", ["c": "2", "b/n": "4"], as: "merge")
        #expect(
            engine.read() == [
                "a: value null", #"a: childAdded b {"n":1,".priority":3}"#,
                #"a: value {"b":{"n":1,".priority":3}}"#, "put made", "put acknowledged",
                "a: childAdded c 2", #"a: childChanged b {"n":4,".priority":3} after c"#,
                #"a: value {"b":{"n":4,".priority":3},"c":2}"#, "merge made",
                "merge acknowledged",
            ])
        engine.get(QuerySpec(TreePath("a/c")))
        engine.get(QuerySpec(TreePath("none")), as: "none")
        #expect(engine.read() == ["get: 2", "none: null"])
        #expect(engine.pending.isEmpty)
        #expect(try usage(engine).pendingWriteCount == 0)
        engine.write(.merge(TreePath("a"), []), as: "empty")
        #expect(engine.read() == ["empty made", "empty acknowledged"])
        close(engine)
        #expect(try role() == .local)
        let again = try open(isLocal: false)
        again.get(QuerySpec(TreePath("a/c")))
        #expect(again.read() == ["get: 2"])
        close(again)
    }

    @Test("server values, increments and transactions are computed here")
    func serverValues() throws {
        let engine = try open()
        engine.write(
            .overwrite(TreePath("t"), Node(.deferred(.timestamp))), as: "time")
        engine.write(
            .overwrite(TreePath("n"), Node(.deferred(.increment(LeafNumber(5))))), as: "add")
        engine.increment("n", as: "transaction")
        engine.get(QuerySpec(TreePath("n")))
        engine.get(QuerySpec(TreePath("t")), as: "time")
        #expect(
            engine.read() == [
                "time made", "time acknowledged", "add made", "add acknowledged",
                "transaction sees 5", "transaction committed 6", "get: 6",
                "time: \(clock.timestamp.milliseconds)",
            ])
        close(engine)
    }

    @Test("there is no connection, and no end of one")
    func connection() throws {
        let engine = try open()
        engine.listen(".info/connected", as: "connected")
        engine.listen(".info/serverTimeOffset", as: "offset")
        engine.arm(.put(TreePath("online"), Node(.boolean(false))), as: "put")
        engine.arm(.cancel(TreePath("online")), as: "cancel")
        #expect(
            engine.read() == [
                "connected: value false", "offset: value 0", "put failed: failedPrecondition",
                "cancel recorded",
            ])
        close(engine)
    }

    @Test("nothing is evicted, and what would evict is refused")
    func eviction() throws {
        let engine = try open()
        try engine.put("a", #"{"b": 1}"#, as: "put")
        engine.evict()
        _ = engine.read()
        let limit = TreeCacheRule(TreePath("a"), maximumBytes: 1_000)
        #expect(engine.refusal(of: limit)?.hasPrefix("invalidArgument") == true)
        #expect(engine.refusal(of: TreeCacheRule(TreePath("a"), isPinned: true)) == nil)
        engine.get(QuerySpec(.root))
        #expect(engine.read() == ["get: {\"a\":{\"b\":1}}"])
        close(engine)
        let error = #expect(throws: LarderError.self) { try open(rules: [limit]) }
        #expect(error?.kind == .invalidArgument)
        let withoutStore = #expect(throws: LarderError.self) {
            try EngineUnderTest(nil, isLocal: true) { $0.isLocal = true }
        }
        #expect(withoutStore?.kind == .invalidArgument)
        let twoSources = #expect(throws: LarderError.self) {
            try EngineUnderTest(.inMemory()) { $0.isLocal = true }
        }
        #expect(twoSources?.kind == .invalidArgument)
    }

    @Test("its size is that of its data, however often it is written")
    func growth() throws {
        let engine = try open()
        func rewrite(_ count: Int) throws {
            for number in 0..<count {
                try engine.set(
                    "a/\(number % 10)", .object([JSONMember("n", .integer(Int64(number)))]))
                try engine.set("b/\(number)", .integer(1))
                try engine.set("b/\(number)", .null)
            }
        }
        try rewrite(200)
        let before = try #require(try usage(engine).store)
        try rewrite(2_000)
        let after = try #require(try usage(engine).store)
        #expect(after.totalBytes <= before.totalBytes + 2_000)
        close(engine)
        #expect(try store.check().isClean)
    }

    // MARK: Becoming local

    @Test("pending writes become final in their order when the database becomes local")
    func pending() throws {
        let engine = try open(isLocal: false)
        try engine.put("a", #"{"b": 1, "c": 2}"#, as: "put")
        for _ in 0..<50 {
            engine.write(.overwrite(TreePath("a/b"), Node(.deferred(.increment(LeafNumber(2))))))
        }
        try engine.merge("a", ["c": "null", "d": "5"], as: "merge")
        engine.increment("a/d", as: "transaction")
        #expect(engine.pending.count == 53)
        close(engine)
        #expect(try role() == .cache)
        let local = try open()
        local.get(QuerySpec(.root))
        #expect(local.read() == ["get: {\"a\":{\"b\":101,\"d\":6}}"])
        #expect(local.pending.isEmpty)
        #expect(try usage(local).pendingWriteCount == 0)
        #expect(try stored("database") == "null")
        close(local)
        #expect(try store.check().isClean)
    }

    @Test("a cache of a server is refused as a local database, and stays what it is")
    func cache() throws {
        let engine = try open(isConnected: true)
        _ = try engine.observe("a", Node(parsing: #"{"b": {"n": 1, ".priority": 2}}"#))
        try engine.put("a/c", "3", as: "put")
        close(engine)
        let error = #expect(throws: LarderError.self) { try open() }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains("cache of a server's data") == true)
        #expect(try role() == .cache)
        let again = try open(isConnected: true)
        #expect(again.pending.count == 1)
        close(again)
    }

    // MARK: A backend

    private static let content =
        #"{"a": {"b": {"n": 1, ".priority": 4}, "c": 2, ".priority": "p"}, "d": true}"#

    private func fill() throws {
        let engine = try open()
        for (key, text) in [
            "a": #"{"b": {"n": 1, ".priority": 4}, "c": 2, ".priority": "p"}"#, "d": "true",
        ] {
            try engine.put(key, text, as: "put")
        }
        close(engine)
    }

    @Test("without a choice, a local database with data is not opened with a backend")
    func noChoice() throws {
        try fill()
        let error = #expect(throws: LarderError.self) { try open(isConnected: true) }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains(".push") == true)
        #expect(error?.message.contains(".keepLocal") == true)
        #expect(try role() == .local)
        let engine = try open()
        engine.write(.overwrite(.root, .empty))
        close(engine)
        close(try open(isConnected: true))
        #expect(try role() == .cache)
    }

    @Test("its data is pushed as updates, and stays what it was", arguments: [false, true])
    func push(isInterrupted: Bool) throws {
        try fill()
        let large = try open()
        let text = String(repeating: "x", count: 3_000)
        for number in 0..<100 {
            try large.set("large/\(number)", .object([JSONMember("text", .string(text))]))
        }
        close(large)
        let before = try stored("database.local")
        var pushed = try open(isConnected: true, localData: .push)
        #expect(pushed.pending.count > 4)
        if isInterrupted {
            // Not sent: the writes become final again, and are pushed once more.
            close(pushed)
            close(try open())
            #expect(try stored("database.local") == before)
            pushed = try open(isConnected: true, localData: .push)
        }
        #expect(try role() == .cache)
        #expect(try stored("database.local") == "null")
        pushed.listen("", as: "all")
        #expect(pushed.read().allSatisfy { $0.contains("childAdded") }, "the root is not known")
        let requests = try pushed.connection.read()
        let sent = requests.filter { $0.request.text.contains("merge") }
        #expect(sent.count == pushed.pending.count)
        try pushed.connection.push(.overwrite(.root, .empty, tag: nil))
        for request in requests where request.request.text.hasPrefix("listen") {
            try pushed.connection.answer(request.number)
        }
        #expect(pushed.read().last == "all: value \(before)")
        close(pushed)
        let again = try open(isConnected: true)
        #expect(again.pending.count == sent.count)
        close(again)
        #expect(try store.check().isClean)
    }

    @Test("its locations are kept local, and others are the server's")
    func keepLocal() throws {
        try fill()
        var engine = try open(isConnected: true, localData: .keepLocal)
        #expect(engine.pending.isEmpty)
        engine.get(QuerySpec(TreePath("a/b/n")))
        #expect(engine.read() == ["get: 1 from cache"])
        try engine.put("a/c", "3", as: "local")
        #expect(engine.read() == ["local made", "local acknowledged"])
        try engine.put("e", "3", as: "shared")
        #expect(engine.read() == ["shared made"])
        #expect(try engine.connection.readText().contains { $0.hasSuffix("put /e 3") })
        close(engine)
        // Rules of a later configuration do not release them.
        engine = try open(
            isConnected: true, localData: .keepLocal,
            rules: [TreeCacheRule(TreePath("e"), isPinned: true)])
        engine.get(QuerySpec(TreePath("a/c")))
        #expect(engine.read() == ["get: 3 from cache"])
        close(engine)
    }

    @Test("one rule makes the whole tree local only")
    func wholeTree() throws {
        let engine = try open(
            isLocal: false, isConnected: true, rules: [TreeCacheRule(.root, isLocalOnly: true)])
        engine.listen("", as: "all")
        try engine.put("a/b", "1", as: "put")
        engine.listen(".info/connected", as: "connected")
        #expect(
            engine.read() == [
                "all: value null", #"all: childAdded a {"b":1}"#, #"all: value {"a":{"b":1}}"#,
                "put made", "put acknowledged", "connected: value true",
            ])
        #expect(engine.pending.isEmpty)
        #expect(
            try engine.connection.readText().allSatisfy {
                !$0.contains("put") && !$0.contains("listen")
            })
        close(engine)
    }
}
