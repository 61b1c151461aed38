import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeStore
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

/// Random uses of a cache under random rules, compared step by step with what a naive reading of the
/// rules says must stay and must go.
@Suite("Cache rules at random")
struct CacheRulesRandomTests {
    @Test("what is evicted is what rules allow, and what they demand")
    func random() throws {
        for _ in 0..<6 {
            var run = try CacheRulesRun(SeededRandom())
            for _ in 0..<60 { try run.step() }
            try run.finish()
        }
    }
}

private struct CacheRulesRun {
    private static let places = [
        "", "a", "a/x", "a/x/1", "a/x/2", "a/y", "b", "b/1", "b/2", "b/3", "b/4",
        "b/5", "c",
    ]
    private static let leaves = [
        "a/x/1", "a/x/2", "a/y", "b/1", "b/2", "b/3", "b/4", "b/5", "c",
    ]

    private var random: SeededRandom
    private let store: Store
    private var engine: EngineUnderTest
    /// The data of the server, which only writes of the client change.
    private var server = Node.empty
    private var listeners: [(id: ListenerID, path: String)] = []
    private var rules: [TreeCacheRule] = []
    private var log: [String] = []

    init(_ random: SeededRandom) throws {
        self.random = random
        store = try Store(.inMemory())
        engine = try EngineUnderTest(.inMemory(), store: store)
        try engine.connect()
        for leaf in Self.leaves {
            server = server.setting(
                TreePath(leaf), to: .init(.string(text(500 + self.random.below(8_000)))))
        }
    }

    private mutating func text(_ length: Int) -> String { incompressibleText(length, &random) }

    /// One use of the cache, then the comparison.
    mutating func step() throws {
        let before = try store.queries()
        let wereComplete = Self.places.filter { Self.isComplete($0, before) }
        let oldRules = rules
        engine.scheduler.clock.advance(by: .milliseconds(7))
        let wasEvicted = try use()
        let after = try store.queries()
        compare(before, after, wasEvicted: wasEvicted)
        comparePins(wereComplete, after, oldRules)
        try compareSizes(before, after)
        try compareContent(after)
        let report = try store.check()
        #expect(report.isClean, "\(random) \(log)")
    }

    /// - Returns: true if everything was evicted that may be.
    private mutating func use() throws -> Bool {
        let path = random.pick(Self.places)
        switch random.below(12) {
        case 0...3:
            log.append("fetch \(path)")
            try stop(try observe(path), path)
        case 4, 5:
            log.append("listen \(path)")
            listeners.append((try observe(path), path))
        case 6, 7:
            guard !listeners.isEmpty else { break }
            let (id, path) = listeners.remove(at: random.below(listeners.count))
            log.append("stop \(path)")
            try stop(id, path)
        case 8:
            let leaf = random.pick(Self.leaves)
            log.append("write \(leaf)")
            let text = text(100 + random.below(4_000))
            server = server.setting(TreePath(leaf), to: Node(.string(text)))
            try engine.set(leaf, .string(text))
            let isObserved = listeners.contains {
                Self.isWithin(TreePath(leaf), TreePath($0.path))
            }
            if isObserved { try push(leaf) }
            try engine.answerAll()
        case 9: try replaceRules()
        case 10:
            let seconds = 1 + random.below(60)
            log.append("pass \(seconds)")
            for _ in 0..<seconds { engine.advance(by: .seconds(1)) }
        default:
            if random.oneIn(2) { return try reopen() }
            log.append("evict")
            engine.evict()
            return true
        }
        return false
    }

    private func observe(_ path: String) throws -> ListenerID {
        let id = engine.listen(path)
        try push(path)
        try engine.answerAll()
        return id
    }

    private func push(_ path: String) throws {
        let node = server.node(at: TreePath(path))
        try engine.connection.push(.overwrite(TreePath(path), node, tag: nil))
        engine.scheduler.drain()
    }

    private func stop(_ id: ListenerID, _ path: String) throws {
        try engine.stop(id, path)
    }

    private mutating func replaceRules() throws {
        rules = []
        let isForSizes = random.oneIn(2)
        for place in Self.places where random.oneIn(isForSizes ? 6 : 3) {
            let path = TreePath(place)
            switch isForSizes && place.count < 2 ? 4 : random.below(5) {
            case 0: rules.append(TreeCacheRule(path, isPinned: true))
            case 1: rules.append(TreeCacheRule(path, isNeverCached: true))
            case 2: rules.append(TreeCacheRule(path))
            case 3:
                let age = Duration.seconds(2 + random.below(40))
                rules.append(TreeCacheRule(path, maximumAge: age))
            default:
                let size = Int64(1_000 + random.below(30_000))
                rules.append(TreeCacheRule(path, maximumBytes: size))
            }
        }
        log.append("rules \(rules.map(\.path.text))")
        try engine.setRules(TreeCacheRules(rules))
    }

    private mutating func reopen() throws -> Bool {
        log.append("reopen")
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        engine = try EngineUnderTest(.inMemory(), store: store, clock: engine.scheduler.clock)
        try engine.connect()
        listeners = []
        return false
    }

    // MARK: The naive reading

    private static func isWithin(_ path: TreePath, _ ancestor: TreePath) -> Bool {
        ancestor.count <= path.count && Array(path.prefix(ancestor.count)) == Array(ancestor)
    }

    private static func rule(
        _ path: TreePath, _ rules: [TreeCacheRule]
    ) -> TreeCacheRule? {
        rules.filter { isWithin(path, $0.path) }.max { $0.path.count < $1.path.count }
    }

    private static func isComplete(_ path: String, _ queries: [TrackedQuery]) -> Bool {
        queries.contains { $0.isComplete && isWithin(TreePath(path), $0.query.path) }
    }

    private var now: Int64 { engine.scheduler.clock.timestamp.milliseconds }

    private func milliseconds(_ duration: Duration) -> Int64 { duration.components.seconds * 1000 }

    private func compare(
        _ before: [TrackedQuery], _ after: [TrackedQuery], wasEvicted: Bool
    ) {
        let left = Set(after.map(\.id))
        // Ages are checked at every sixteenth of the shortest one.
        let ages = rules.compactMap(\.maximumAge).map(milliseconds)
        let interval = max(1_000, (ages.min() ?? 0) / 16) + 1_000
        for query in after {
            let rule = Self.rule(query.query.path, rules)
            #expect(query.isPinned == (rule?.isPinned == true), "\(query) \(random) \(log)")
            if query.isActive { continue }
            #expect(rule?.isNeverCached != true, "\(query) \(random) \(log)")
            #expect(!wasEvicted || query.isPinned, "\(query) \(random) \(log)")
            if let age = rule?.maximumAge {
                #expect(
                    now - query.lastUse <= milliseconds(age) + interval,
                    "\(query) \(random) \(log)")
            }
        }
        for query in before where !left.contains(query.id) {
            let rule = Self.rule(query.query.path, rules)
            let isAllowed =
                rule?.isPinned != true
                && (wasEvicted || rule?.isNeverCached == true || rule?.maximumBytes != nil
                    || rule?.maximumAge.map { now - query.lastUse > milliseconds($0) } == true)
            #expect(isAllowed, "gone: \(query) \(random) \(log)")
        }
        for listener in listeners {
            let query = after.first { $0.query == QuerySpec(TreePath(listener.path)) }
            #expect(query?.isActive == true, "\(listener.path) \(random) \(log)")
        }
    }

    /// A pinned location that was known as a whole still is.
    private func comparePins(
        _ wereComplete: [String], _ after: [TrackedQuery], _ oldRules: [TreeCacheRule]
    ) {
        for rule in rules where rule.isPinned && oldRules.contains(rule) {
            let path = rule.path.text
            guard wereComplete.contains(path) else { continue }
            #expect(Self.isComplete(path, after), "\(path) \(random) \(log)")
        }
    }

    /// Of the queries of a rule with a size those go that were not used for longest, and as many
    /// that the size holds.
    private func compareSizes(_ before: [TrackedQuery], _ after: [TrackedQuery]) throws {
        let left = Set(after.map(\.id))
        let usages = try store.read { transaction throws(LarderError) in
            try transaction.cacheRuleUsage(ofTree: "database")
        }
        #expect(usages.map(\.rule) == rules, "\(random) \(log)")
        for usage in usages {
            guard let maximum = usage.rule.maximumBytes else { continue }
            let unused = after.filter {
                !$0.isActive && Self.rule($0.query.path, rules) == usage.rule
            }
            let gone = before.filter {
                !left.contains($0.id) && !$0.isActive
                    && Self.rule($0.query.path, rules) == usage.rule
            }
            if let oldest = unused.map(\.lastUse).min(), let newest = gone.map(\.lastUse).max(),
                log.last != "evict"
            {
                #expect(newest <= oldest, "\(usage) \(random) \(log)")
            }
            // Checked when a sixteenth may have been written since.
            #expect(
                unused.isEmpty || usage.sizeBytes <= maximum + maximum / 16 + 4_096,
                "\(usage) \(random) \(log)")
        }
    }

    /// What is complete is what the server has; what is never cached and needed by no query is not
    /// in the store.
    private func compareContent(_ after: [TrackedQuery]) throws {
        for place in Self.places where Self.isComplete(place, after) {
            let stored = try store.content(at: place)
            #expect(
                stored == server.node(at: TreePath(place)), "\(place) \(random) \(log)")
        }
        for leaf in Self.leaves {
            let path = TreePath(leaf)
            let isKept = after.contains { Self.isWithin(path, $0.query.path) }
            guard !isKept, Self.rule(path, rules)?.isNeverCached == true else { continue }
            #expect(try store.content(at: leaf).isEmpty, "\(leaf) \(random) \(log)")
        }
    }

    /// Without rules everything goes that no listener has.
    mutating func finish() throws {
        for listener in listeners { try stop(listener.id, listener.path) }
        try engine.setRules()
        engine.evict()
        #expect(try store.queries().isEmpty, "\(random) \(log)")
        #expect(try store.content(at: "").isEmpty, "\(random) \(log)")
        #expect(engine.warnings.withLock { $0 } == [], "\(random) \(log)")
    }
}
