import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Trees in a store")
struct TransactionNodesTests {
    @Test("a tree in memory answers as a node does, after any writes")
    func inMemory() throws {
        var random = SeededRandom()
        let store = try Store(.inMemory())
        var law = try TreeLaw(store)
        for _ in 0..<400 { try law.step(store, &random) }
        #expect(try store.check().isClean, "\(random)")
    }

    @Test("a tree on disk answers as a node does, also after opening it again")
    func onDisk() throws {
        var random = SeededRandom()
        let directory = try TemporaryDirectory()
        var configuration = StoreConfiguration(directory: directory.file("s"))
        configuration.mapBytes = StoreConfiguration.modestMapBytes
        configuration.durability = .lastCommitAtRisk
        var law: TreeLaw?
        for _ in 0..<5 {
            let store = try Store(configuration)
            var current = try law ?? TreeLaw(store)
            for _ in 0..<30 { try current.step(store, &random) }
            #expect(try store.check().isClean, "\(random)")
            law = current
            try store.close()
        }
    }

    @Test("a large location is read in parts of any size, with and without compression")
    func largeNodes() throws {
        var random = SeededRandom()
        for _ in 0..<10 {
            let store = try Store(.inMemory())
            func location(depth: Int) -> Node {
                let children = (0..<random.below(depth == 0 ? 300 : 12)).map { _ in
                    let text = String(
                        repeating: "text \(random.below(100)) ", count: 1 + random.below(40))
                    let node =
                        depth > 0 && random.oneIn(2)
                        ? location(depth: depth - 1)
                        : Node(.string(text), priority: random.priority())
                    return Child(random.key(), node)
                }
                let more = (0..<random.below(60)).map {
                    Child(ChildKey("key \($0)"), random.node(depth: 1))
                }
                return Node(children: children + more, priority: random.priority())
            }
            let node = location(depth: 3)
            let tree = try store.write { transaction throws(LarderError) in
                let tree = try transaction.obtainTree(named: "demo")
                try transaction.overwrite(.root, with: node, in: tree)
                return tree
            }
            try store.read { transaction throws(LarderError) in
                for partBytes in [1, 100, 4000, 64 << 10, 4 << 20] {
                    let (read, compressed) = (
                        try transaction.largeNode(at: .root, in: tree, nil, partBytes: partBytes),
                        try transaction.largeNode(
                            at: .root, in: tree, ChildrenCompressor(), partBytes: partBytes)
                    )
                    #expect(read == node && compressed == node, "\(partBytes) \(random)")
                    #expect(read.hash == node.hash, "\(partBytes) \(random)")
                }
            }
        }
    }

    @Test("a location of many children is read by page, child and window")
    func manyChildren() throws {
        let store = try Store(.inMemory())
        let scores = Node(
            sortedChildren: (0..<20_000).map { Child(ChildKey("p\(100_000 + $0)"), number($0)) })
        let path = TreePath("games/7/scores")
        let tree = try store.write { transaction throws(LarderError) in
            let tree = try transaction.obtainTree(named: "demo")
            try transaction.overwrite(path, with: scores, in: tree)
            return tree
        }
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.childCount(at: path, in: tree) == 20_000)
            let page = try transaction.page(
                at: path, in: tree, after: ChildKey("p100099"), limit: 3)
            #expect(page.node.children.map(\.key.text) == ["p100100", "p100101", "p100102"])
            #expect(page.hasMore)
            let last = try transaction.page(at: path, in: tree, limit: 2, fromEnd: true)
            #expect(last.node.children.map(\.key.text) == ["p119998", "p119999"])
            let two = try transaction.children(
                [ChildKey("p100005"), ChildKey("absent")], at: path, in: tree)
            #expect(two.children.map(\.key.text) == ["p100005"])
            let usage = try transaction.usage(at: path, in: tree)
            #expect(usage.rowCount > 50 && usage.rowCount < 400)
        }
        let parameters = try QueryBuilder().ordered(by: .value).limited(toLast: 4).parameters
        let window = try store.read { transaction throws(LarderError) in
            try transaction.window(of: QuerySpec(path, parameters), in: tree)
        }
        #expect(
            window.children(by: .value).map(\.node.leafValue) == [
                .integer(9996), .integer(9997), .integer(9998), .integer(9999),
            ])
    }

    /// Numbers below 10,000 in an order of their own; the largest four are unique.
    private func number(_ position: Int) -> Node {
        let value = position * 7919 % 20_000
        return Node(.integer(Int64(value < 10_000 ? value : value - 10_004)))
    }

    @Test("range merges change what differs")
    func rangeMerges() throws {
        var random = SeededRandom()
        let store = try Store(.inMemory())
        let tree = try store.write { transaction throws(LarderError) in
            try transaction.obtainTree(named: "demo")
        }
        let path = TreePath("a/b")
        for _ in 0..<100 {
            let old = random.node()
            let range = RangeMerge(
                after: random.oneIn(2) ? random.path() : nil,
                through: random.oneIn(2) ? random.path() : nil, random.node())
            try store.write { transaction throws(LarderError) in
                try transaction.overwrite(path, with: old, in: tree)
                try transaction.apply([range], at: path, in: tree)
            }
            let stored = try store.read { transaction throws(LarderError) in
                try transaction.node(at: path, in: tree)
            }
            #expect(stored == range.applied(to: old), "\(random)")
        }
        #expect(try store.check().isClean)
    }

    @Test("what no tree can hold is refused, and changes nothing")
    func refused() throws {
        let store = try Store(.inMemory())
        let tree = try store.write { transaction throws(LarderError) in
            try transaction.obtainTree(named: "demo")
        }
        func refusal(_ path: String, _ node: Node) -> LarderError.Code? {
            code {
                try store.write { transaction throws(LarderError) in
                    try transaction.overwrite(TreePath(path), with: node, in: tree)
                }
            }
        }
        #expect(refusal("a.b", Node(.integer(1))) == .invalidArgument)
        #expect(refusal("a", Node(.deferred(.timestamp))) == .invalidArgument)
        #expect(refusal("a/.priority", Node(.boolean(true))) == .invalidArgument)
        let deep = TreePath((0..<120).map { ChildKey("k\($0)") })
        #expect(refusal(deep.text, Node(.integer(1))) == .invalidArgument)
        try store.read { transaction throws(LarderError) in
            #expect(try transaction.node(at: .root, in: tree).isEmpty)
            #expect(try transaction.trees().map(\.name) == ["demo"])
            #expect(try transaction.tree(named: "other") == nil)
        }
    }
}

extension TreePath {
    fileprivate var text: String { String(description.dropFirst()) }
}

/// Random writes of a tree, compared with the same writes to a node.
private struct TreeLaw {
    let tree: TreeNumber
    var expected = Node.empty

    init(_ store: Store) throws {
        tree = try store.write { transaction throws(LarderError) in
            try transaction.obtainTree(named: "law")
        }
    }

    /// One transaction of some writes, and reads of the outcome.
    mutating func step(_ store: Store, _ random: inout SeededRandom) throws {
        var node = expected
        let tree = tree
        try store.write { transaction throws(LarderError) in
            for _ in 0...random.below(4) {
                if random.oneIn(3) {
                    try merge(&transaction, &node, &random)
                } else {
                    try overwrite(&transaction, &node, &random)
                }
            }
            let written = try transaction.node(at: .root, in: tree)
            #expect(written == node, "\(random)")
        }
        expected = node
        let path = random.path()
        let query = QuerySpec(path, random.query())
        let keys = Set((0..<4).map { _ in random.key() })
        try store.read { transaction throws(LarderError) in
            let subtree = node.node(at: path)
            #expect(try transaction.node(at: path, in: tree) == subtree, "\(random)")
            let window = Node(children: query.parameters.window(of: subtree))
            #expect(try transaction.window(of: query, in: tree) == window, "\(random)")
            let some = Node(
                children: subtree.children.filter { keys.contains($0.key) },
                priority: subtree.isLeaf ? .none : subtree.priority)
            #expect(try transaction.children(keys, at: path, in: tree) == some, "\(random)")
            #expect(
                try transaction.childCount(at: path, in: tree) == subtree.childCount, "\(random)")
        }
    }

    private func overwrite(
        _ transaction: inout WriteTransaction, _ node: inout Node, _ random: inout SeededRandom
    ) throws(LarderError) {
        let path = random.path()
        let value = random.node(depth: random.below(4))
        try transaction.overwrite(path, with: value, in: tree)
        node = node.setting(path, to: value)
    }

    private func merge(
        _ transaction: inout WriteTransaction, _ node: inout Node, _ random: inout SeededRandom
    ) throws(LarderError) {
        let path = random.path()
        var values: [PathValue] = []
        for _ in 0..<(1 + random.below(30)) {
            let relative = TreePath([random.key()] + Array(random.path(maximumDepth: 1)))
            let isDisjoint = values.allSatisfy {
                !$0.path.isAncestorOrEqual(of: relative) && !relative.isAncestor(of: $0.path)
            }
            if isDisjoint { values.append(PathValue(relative, random.node(depth: 1))) }
        }
        if random.oneIn(4) { values.append(PathValue(TreePath([.priority]), .empty)) }
        try transaction.merge(values, at: path, in: tree)
        let merged = node.node(at: path).setting(values)
        node = node.setting(path, to: merged)
    }
}
