import LarderRealtimeModel
import LarderRealtimeStore
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Tracked queries in a store")
struct TrackedQueryTests {
    private let directory: TemporaryDirectory
    private let configuration: StoreConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        configuration.durability = .lastCommitAtRisk
        self.configuration = configuration
    }

    private func window(_ path: String, last count: Int) throws -> QuerySpec {
        QuerySpec(
            TreePath(path),
            try QueryBuilder().ordered(by: .value).limited(toLast: count).parameters)
    }

    @Test("queries and their keys are as they were after a restart")
    func restart() throws {
        let saved = [
            TrackedQuery(
                TrackedQueryID(1), QuerySpec(TreePath("rooms/1")), lastUse: 1_760_000_000_123,
                isComplete: true, isActive: true),
            TrackedQuery(
                TrackedQueryID(5), try window("scores", last: 4), lastUse: -1, isComplete: true),
            TrackedQuery(TrackedQueryID(9), QuerySpec(.root), lastUse: 0),
        ]
        let store = try Store(configuration)
        try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            for query in saved { try transaction.save(query, in: tree) }
            try transaction.setTrackedKeys(
                of: TrackedQueryID(5), to: [ChildKey("b"), ChildKey("a"), ChildKey("7")], in: tree)
            try transaction.changeTrackedKeys(
                of: TrackedQueryID(5), adding: [ChildKey("c"), ChildKey("c")],
                removing: [ChildKey("b"), ChildKey("x")], in: tree)
        }
        try store.close()
        let reopened = try Store(configuration)
        let tree = try #require(
            try reopened.read { transaction throws(LarderError) in
                try transaction.tree(named: "demo")
            })
        try reopened.read { transaction throws(LarderError) in
            #expect(try transaction.trackedQueries(in: tree) == saved)
            #expect(try transaction.trackedQuery(TrackedQueryID(5), in: tree) == saved[1])
            #expect(try transaction.trackedQuery(TrackedQueryID(2), in: tree) == nil)
            let keys = try transaction.trackedKeys(
                of: [TrackedQueryID(5), TrackedQueryID(2)], in: tree)
            #expect(keys == [ChildKey("a"), ChildKey("c"), ChildKey("7")])
        }
        #expect(try reopened.check().isClean)
    }

    @Test("a removed query is gone with its keys; its data stays until space is needed")
    func removal() throws {
        let store = try Store(configuration)
        let id = TrackedQueryID(3)
        let tree = try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            try transaction.overwrite(TreePath("a/b"), with: Node(.integer(1)), in: tree)
            try transaction.save(
                TrackedQuery(id, QuerySpec(TreePath("a")), lastUse: 1, isComplete: true), in: tree)
            return tree
        }
        try store.write { transaction throws(LarderError) in
            #expect(try transaction.removeTrackedQuery(id, in: tree))
            #expect(try !transaction.removeTrackedQuery(id, in: tree))
            #expect(try transaction.trackedQueries(in: tree).isEmpty)
            #expect(try !transaction.node(at: TreePath("a"), in: tree).isEmpty)
        }
        while try store.evict(toBytes: 0).hasMore {}
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.node(at: .root, in: tree).isEmpty)
        }
        #expect(try store.check().isClean)
    }

    @Test("keys of a query that is not there, and a changed location, are refused")
    func refused() throws {
        let store = try Store(configuration)
        let tree = try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            try transaction.save(
                TrackedQuery(TrackedQueryID(1), QuerySpec(TreePath("a")), lastUse: 0), in: tree)
            return tree
        }
        #expect(
            code {
                try store.write { transaction throws(LarderError) in
                    try transaction.changeTrackedKeys(
                        of: TrackedQueryID(2), adding: [ChildKey("a")], removing: [], in: tree)
                }
            } == .notFound)
        #expect(
            code {
                try store.write { transaction throws(LarderError) in
                    try transaction.save(
                        TrackedQuery(TrackedQueryID(1), QuerySpec(TreePath("b")), lastUse: 0),
                        in: tree)
                }
            } == .invalidArgument)
    }
}
