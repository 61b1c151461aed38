import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Stored cache rules of a tree")
struct StoredTreeCacheRulesTests {
    private let store: Store
    private let tree: TreeNumber

    init() throws {
        store = try Store(.inMemory())
        tree = try store.write { transaction throws(LarderError) in
            try transaction.obtainTree(named: "demo")
        }
    }

    private func rules() throws -> TreeCacheRules {
        try TreeCacheRules([
            TreeCacheRule(TreePath("menus"), isPinned: true),
            TreeCacheRule(
                TreePath("chats"), maximumBytes: 20 << 20, maximumAge: .milliseconds(1_500)),
            TreeCacheRule(TreePath("chats/lobby")),
            TreeCacheRule(TreePath("drafts"), isLocalOnly: true),
            TreeCacheRule(.root, isNeverCached: true),
        ])
    }

    private func add(
        _ id: Int64, _ path: String, isPinned: Bool = false, size: Int = 20_000
    ) throws {
        let text = String((0..<size).map { _ in "0123456789abcdef".randomElement() ?? "0" })
        let path = TreePath(path)
        try store.write { transaction throws(LarderError) in
            try transaction.overwrite(path, with: Node(.string(text)), in: tree)
            try transaction.save(
                TrackedQuery(
                    TrackedQueryID(id), QuerySpec(path), lastUse: id, isComplete: true,
                    isPinned: isPinned), in: tree)
        }
    }

    private func ids() throws -> [Int64] {
        try store.read { transaction throws(LarderError) in
            try transaction.trackedQueries(in: tree).map(\.id.rawValue)
        }
    }

    private func has(_ path: String) throws -> Bool {
        try store.read { transaction throws(LarderError) in
            try !transaction.node(at: TreePath(path), in: tree).isEmpty
        }
    }

    @Test("rules are there after reopening, those of each tree for itself, and can be removed")
    func reopening() throws {
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        var store = try Store(configuration)
        let rules = try rules()
        try store.write { transaction throws(LarderError) in
            try transaction.setCacheRules(rules, ofTree: "first")
        }
        try store.close()
        store = try Store(configuration)
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.cacheRules(ofTree: "first") == rules)
            #expect(try transaction.cacheRules(ofTree: "second").isEmpty)
        }
        try store.write { transaction throws(LarderError) in
            try transaction.setCacheRules(TreeCacheRules(), ofTree: "first")
        }
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.cacheRules(ofTree: "first").isEmpty)
        }
        #expect(try store.check().isClean)
    }

    @Test("a damaged value is an error that names the tree")
    func damage() throws {
        for text in ["[", "{}", "[1]", #"[{"path":"a","maxBytes":-1}]"#] {
            try store.write { transaction throws(LarderError) in
                try transaction.putNamedValue(
                    .global, "treeCacheRules/demo", Array(text.utf8))
            }
            let error = #expect(throws: LarderError.self) {
                try store.read { transaction throws(LarderError) in
                    try transaction.cacheRules(ofTree: "demo")
                }
            }
            #expect(error?.kind == .dataLoss && error?.message.contains("'demo'") == true)
        }
    }

    @Test("no walk evicts a pinned query, by whatever process, until it is no longer pinned")
    func pinned() throws {
        try add(1, "a/x", isPinned: true)
        try add(2, "a/y")
        while try store.evict(toBytes: 0).hasMore {}
        #expect(try ids() == [1] && has("a/x") && !has("a/y"))
        try add(1, "a/x")
        while try store.evict(toBytes: 0).hasMore {}
        #expect(try ids().isEmpty && !has("a"))
        #expect(try store.check().isClean)
    }

    @Test("a sweep deletes data of removed queries that no other one keeps, and nothing else")
    func sweep() throws {
        try add(3, "a")
        try add(1, "a/x")
        try add(2, "a/y")
        try add(4, "b")
        try add(5, "b/c")
        // Data that was written before its query leaves nothing but a note.
        #expect(try store.sweep() < 1_000)
        #expect(try store.sweep() == 0)
        #expect(try ids() == [1, 2, 3, 4, 5] && has("a/x") && has("a/y") && has("b/c"))
        let remove = { (ids: Int64...) throws in
            try store.write { transaction throws(LarderError) in
                for id in ids {
                    try transaction.removeTrackedQuery(TrackedQueryID(id), in: tree)
                }
            }
        }
        try remove(4)
        let commit = store.lastEvictionCommit
        #expect(try store.sweep() < 1_000)
        #expect(try has("b/c"))
        try remove(5)
        #expect(try store.sweep() > 5_000)
        #expect(try !has("b") && has("a"))
        #expect(try ids() == [1, 2, 3])
        #expect(store.lastEvictionCommit == commit)
        #expect(try store.check().isClean)
    }

    @Test("a rule's usage is that of its queries and rows, without those of deeper rules")
    func usage() throws {
        let rules = try rules()
        try store.write { transaction throws(LarderError) in
            try transaction.setCacheRules(rules, ofTree: "demo")
        }
        try add(1, "menus/today")
        try add(2, "chats/a")
        try add(3, "chats/b")
        try add(4, "chats/lobby/x", size: 50_000)
        try add(5, "other", size: 10)
        try add(6, "drafts/server", size: 10)
        try store.write { transaction throws(LarderError) in
            let local = try transaction.obtainTree(
                named: TreeCacheRules.localTreeName(of: "demo"))
            let text = String((0..<20_000).map { _ in "0123456789abcdef".randomElement() ?? "0" })
            try transaction.overwrite(TreePath("drafts/a"), with: Node(.string(text)), in: local)
        }
        try store.read { transaction throws(LarderError) in
            let usages = try transaction.cacheRuleUsage(ofTree: "demo")
            #expect(usages.map(\.rule) == rules.list)
            #expect(usages.map(\.trackedQueryCount) == [1, 2, 1, 0, 1])
            let (menus, chats, lobby) = (usages[0], usages[1], usages[2])
            #expect(menus.sizeBytes > 8_000 && menus.sizeBytes < 30_000)
            #expect(chats.sizeBytes > 16_000 && chats.sizeBytes < 60_000)
            #expect(lobby.sizeBytes > 20_000 && lobby.sizeBytes < 80_000)
            #expect(usages[3].sizeBytes > 8_000 && usages[3].sizeBytes < 30_000)
            #expect(usages[4].sizeBytes < 10_000)
            #expect(try transaction.cacheRuleUsage(ofTree: "no such tree").isEmpty)
        }
    }
}
