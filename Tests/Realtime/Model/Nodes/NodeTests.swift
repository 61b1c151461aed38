import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Nodes")
struct NodeTests {
    @Test("a text is compared with a node's hash, which is not computed for text that is no hash")
    func hasHash() throws {
        let node = try Node(parsing: #"{"a":1,"b":{"c":"x"}}"#)
        #expect(!node.hasHash("") && !node.hasHash("none"))
        #expect(node.branch?.knownDigest == nil)
        #expect(node.hasHash(node.hash) && !node.hasHash(String(repeating: "x", count: 28)))
        #expect(Node.empty.hasHash("") && !Node.empty.hasHash("none"))
        #expect(try Node(parsing: "true").hasHash(Node(parsing: "true").hash))
    }

    @Test("nodes are the same by identity; equal ones only while they are small")
    func isSame() {
        func make(_ count: Int) -> Node {
            Node(children: (0..<count).map { Child(ChildKey("k\($0)"), Node(.boolean(true))) })
        }
        let (small, large) = (make(10), make(10_000))
        #expect(small.isSame(as: make(10)) && !small.isSame(as: make(11)))
        #expect(large.isSame(as: large) && large == make(10_000))
        #expect(!large.isSame(as: make(10_000)) && !large.isSame(as: small))
        #expect(Node(.string("a")).isSame(as: Node(.string("a"))))
    }

    @Test("random writes give what dictionaries have")
    func writes() {
        var random = SeededRandom()
        for _ in 0..<100 {
            var node = random.node()
            var model = PlainTree(node)
            for _ in 0..<40 {
                var path = random.path(maximumDepth: 4)
                var written = random.node(depth: 2)
                if random.oneIn(6) {
                    path = path.child(.priority)
                    written = Node(random.priority())
                }
                let before = node
                node = node.setting(path, to: written)
                model.set(path.map(\.text), to: PlainTree(written))
                #expect(
                    node.exportedJSON == model.json, "\(random)\n\(before)\n\(path): \(written)")
                let read = random.path(maximumDepth: 4)
                #expect(node.node(at: read) == (try? Node(exported: model[read.map(\.text)].json)))
                node.check()
            }
        }
    }

    @Test("a child below a leaf replaces it and takes over the priority, an empty one does nothing")
    func belowLeaves() throws {
        let leaf = try Node(parsing: #"{".value":1,".priority":2}"#)
        #expect(leaf.setting(TreePath("a/b"), to: .empty) == leaf)
        #expect(
            leaf.setting(TreePath("a/b"), to: Node(.boolean(true)))
                == (try Node(parsing: #"{"a":{"b":true},".priority":2}"#)))
    }

    @Test("a node that loses its last child is empty, without a priority")
    func emptying() throws {
        let node = try Node(parsing: #"{"a":{"b":1,".priority":2},".priority":3}"#)
        #expect(node.setting(TreePath("a/b"), to: .empty) == .empty)
        #expect(Node.empty.settingPriority(.number(LeafNumber(1 as Int64))) == .empty)
        #expect(node.child(.priority) == Node(.integer(3)))
    }

    @Test("several children at once are as if set one after the other, removals last")
    func bulkChanges() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let node = random.node()
            let count = random.below(40)
            let changes = Set((0..<count).map { _ in random.key() }).map {
                Child($0, random.node(depth: 1))
            }
            let ordered = changes.filter { !$0.node.isEmpty } + changes.filter(\.node.isEmpty)
            let expected = ordered.reduce(node) { $0.settingChild($1.key, to: $1.node) }
            #expect(node.settingChildren(changes) == expected, "\(random)\n\(node)")
        }
    }

    @Test("several nodes at once are as if set one after the other, removals and priorities last")
    func bulkWrites() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let node = random.node()
            var values: [PathValue] = []
            for _ in 0..<random.below(30) {
                var value = PathValue(random.path(maximumDepth: 4), random.node(depth: 1))
                if random.oneIn(8) {
                    value = PathValue(value.path.child(.priority), Node(random.priority()))
                }
                if (try? (values + [value]).checkDisjoint()) != nil { values.append(value) }
            }
            let rank = { (value: PathValue) in
                value.path.isPriority ? 2 : value.node.isEmpty ? 1 : 0
            }
            let expected = values.sorted { rank($0) < rank($1) }.reduce(node) {
                $0.setting($1.path, to: $1.node)
            }
            let result = node.setting(values)
            #expect(result == expected, "\(random)\n\(node)\n\(values)")
            result.check()
        }
    }

    @Test("equality is that of the JSON, whatever made the nodes")
    func equality() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let node = random.node()
            #expect(node == (try? Node(exported: node.exportedJSON)))
            let other = node.setting(random.path(), to: random.node(depth: 0))
            #expect((node == other) == (node.exportedJSON == other.exportedJSON), "\(random)")
        }
    }

    @Test("changed children are found, and siblings are shared")
    func changedChildren() throws {
        var children = (0..<1000).map { Child(ChildKey("k\($0)"), Node(.integer(Int64($0)))) }
        children.append(Child(ChildKey("deep"), try Node(parsing: #"{"x":{"y":1},"z":2}"#)))
        let node = Node(children: children)
        let changed = node.setting(TreePath("deep/z"), to: Node(.integer(3)))
            .setting(TreePath("k5"), to: .empty).setting(TreePath("new"), to: Node(.boolean(true)))
        var found: [String] = []
        Node.forEachChangedChild(from: node, to: changed) { key, old, new in
            found.append("\(key): \(old) -> \(new)")
        }
        #expect(
            found == [
                #"deep: {"x":{"y":1},"z":2} -> {"x":{"y":1},"z":3}"#, "k5: 5 -> null",
                "new: null -> true",
            ])
        #expect(
            node.node(at: TreePath("deep/x")).branch
                === changed.node(at: TreePath("deep/x")).branch)
    }

    @Test("a child of a large node takes 48 bytes in its parent")
    func layout() {
        #expect(MemoryLayout<Child>.stride == 48)
    }
}

extension Node {
    /// Expects the structure and what is known of children together to be sound.
    func check() {
        guard let branch else { return }
        branch.children.check()
        #expect(!branch.children.isEmpty)
        var summary = ChildrenSummary()
        for child in branch.children {
            child.node.check()
            #expect(!child.node.isEmpty)
            summary.add(child.summary)
        }
        #expect(summary.estimatedSize == branch.summary.estimatedSize)
        #expect(summary.hasPriorities == branch.summary.hasPriorities)
        #expect(summary.hasDeferredValues == branch.summary.hasDeferredValues)
    }
}
