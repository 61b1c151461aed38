import LarderRealtimeModel
import LarderRealtimeStore
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Eviction of trees")
struct NodeEvictionTests {
    private static let budget: Int64 = 1 << 20

    private let store: Store
    private let tree: TreeNumber

    init() throws {
        var configuration = StoreConfiguration.inMemory()
        configuration.budget = .bytes(Self.budget)
        store = try Store(configuration)
        tree = try store.write { transaction throws(LarderError) in
            try transaction.obtainTree(named: "demo")
        }
    }

    /// A room of about 20 KiB.
    private func room(_ random: inout SeededRandom) -> Node {
        Node(
            sortedChildren: (0..<20).map { position in
                let text = (0..<60).map { _ in String(random.next(), radix: 36) }.joined()
                return Child(ChildKey("m\(100 + position)"), Node(.string(text)))
            })
    }

    private func addRoom(
        _ number: Int, isActive: Bool = false, _ random: inout SeededRandom
    ) throws {
        let path = TreePath("rooms/\(number)")
        let node = room(&random)
        try store.write { transaction throws(LarderError) in
            try transaction.overwrite(path, with: node, in: tree)
            try transaction.save(
                TrackedQuery(
                    TrackedQueryID(Int64(number)), QuerySpec(path), lastUse: 0, isComplete: true,
                    isActive: isActive), in: tree)
        }
    }

    /// The rooms that are there, whole; a query is there exactly if its room is.
    private func rooms() throws -> [Int] {
        return try store.read { transaction throws(LarderError) in
            let rooms = try transaction.node(at: TreePath("rooms"), in: tree)
            let queries = try transaction.trackedQueries(in: tree)
            #expect(rooms.children.allSatisfy { $0.node.childCount == 20 })
            #expect(
                Set(rooms.children.map(\.key)) == Set(queries.compactMap { $0.query.path.last }))
            return rooms.children.compactMap { Int($0.key.text) }
        }
    }

    @Test("after each commit the store is within its budget; the oldest rooms go")
    func budget() throws {
        var random = SeededRandom()
        for number in 1...200 {
            try addRoom(number, &random)
            #expect(try store.statistics().totalBytes <= Self.budget, "\(random)")
        }
        let left = try rooms()
        #expect(left.count > 10 && left.count < 100, "\(random)")
        #expect(left.last == 200)
        #expect(left == Array((left.first ?? 0)...200), "\(random)")
        #expect(try store.check().isClean)
    }

    @Test("active queries and pinned locations stay, whatever the budget")
    func kept() throws {
        var random = SeededRandom()
        try addRoom(1, isActive: true, &random)
        try store.pin(TreePath("rooms/2"), in: tree)
        for number in 2...150 { try addRoom(number, &random) }
        #expect(try rooms().prefix(2) == [1, 2], "\(random)")
        try store.unpin(TreePath("rooms/2"), in: tree)
        for number in 151...152 { try addRoom(number, &random) }
        let left = try rooms()
        #expect(left.first == 1 && !left.contains(2), "\(random)")
        #expect(try store.check().isClean)
    }

    @Test("a query that is no longer active goes, although the walk has passed it")
    func released() throws {
        for isActive in [true, false] {
            try store.write { transaction throws(LarderError) in
                for number in 1...3 {
                    let path = TreePath("rooms/\(number)")
                    try transaction.overwrite(path, with: Node(.integer(1)), in: tree)
                    try transaction.save(
                        TrackedQuery(
                            TrackedQueryID(Int64(number)), QuerySpec(path), lastUse: 0,
                            isComplete: true, isActive: isActive || number == 2), in: tree)
                }
            }
            while try store.evict(toBytes: 0).hasMore {}
            try store.read { transaction throws(LarderError) in
                let left = try transaction.trackedQueries(in: tree).map(\.id.rawValue)
                #expect(left == (isActive ? [1, 2, 3] : [2]))
                #expect(
                    try transaction.node(at: TreePath("rooms"), in: tree).childCount == left.count)
            }
        }
        #expect(try store.check().isClean)
    }

    @Test("a use makes a query young")
    func touched() throws {
        var random = SeededRandom()
        for number in 1...30 { try addRoom(number, &random) }
        for number in 31...150 {
            try addRoom(number, &random)
            try store.write { transaction throws(LarderError) in
                try transaction.touch(TrackedQueryID(1), in: tree)
            }
        }
        #expect(try rooms().first == 1, "\(random)")
    }

    @Test("a window keeps its children when the whole location goes")
    func window() throws {
        var random = SeededRandom()
        let (path, node) = (TreePath("rooms/1"), room(&random))
        let kept: Set<ChildKey> = [ChildKey("m103"), ChildKey("m117")]
        let parameters = try QueryBuilder().limited(toLast: 2).parameters
        try store.write { transaction throws(LarderError) in
            try transaction.overwrite(path, with: node, in: tree)
            try transaction.save(
                TrackedQuery(TrackedQueryID(1), QuerySpec(path), lastUse: 0, isComplete: true),
                in: tree)
            let window = TrackedQuery(
                TrackedQueryID(2), QuerySpec(path, parameters), lastUse: 0, isComplete: true,
                isActive: true)
            try transaction.save(window, in: tree)
            try transaction.setTrackedKeys(of: window.id, to: kept, in: tree)
        }
        while try store.evict(toBytes: 0).hasMore {}
        try store.read { transaction throws(LarderError) in
            let left = try transaction.node(at: path, in: tree)
            #expect(Set(left.children.map(\.key)) == kept)
            #expect(try transaction.trackedQueries(in: tree).map(\.id.rawValue) == [2])
        }
        #expect(try store.check().isClean)
    }

    @Test("data that no query has is the first to go")
    func untracked() throws {
        var random = SeededRandom()
        try addRoom(1, &random)
        let node = room(&random)
        try store.write { transaction throws(LarderError) in
            try transaction.overwrite(TreePath("loose/1"), with: node, in: tree)
        }
        for number in 2...30 { try addRoom(number, &random) }
        let size = try store.statistics().totalBytes
        while try store.evict(toBytes: size - 1).hasMore {}
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.node(at: TreePath("loose"), in: tree).isEmpty)
        }
        #expect(try rooms() == Array(1...30), "\(random)")
        #expect(try store.check().isClean)
    }
}
