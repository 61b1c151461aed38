import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeModel

@Suite("Children in the order of an index")
struct NodeChildrenTests {
    static let indexes: [NodeIndex] = [
        .priority, .key, .value, .child(TreePath("a")), .child(TreePath("foo/a")),
    ]

    @Test("orders are those of sorting, before and after changes")
    func orders() {
        var random = SeededRandom()
        for _ in 0..<60 {
            var node = random.node(depth: 2)
            for _ in 0..<20 {
                node = node.setting(random.path(), to: random.node(depth: 1))
                for index in Self.indexes {
                    #expect(Array(node.children(by: index)) == sorted(node, by: index), "\(random)")
                    #expect(node.children(by: index).count == node.childCount)
                }
            }
        }
    }

    /// The children of a node, sorted by what their JSON says.
    private func sorted(_ node: Node, by index: NodeIndex) -> [Child] {
        let tree = PlainTree(node)
        let path: [String]? =
            switch index {
            case .priority: [".priority"]
            case .key: nil
            case .value: []
            case .child(let path): path.map(\.text)
            }
        let keys = tree.sortedKeys.enumerated().sorted { left, right in
            guard let path else { return left.offset < right.offset }
            let order = PlainTree.order(
                tree[[left.element] + path].json.withoutPriority,
                tree[[right.element] + path].json.withoutPriority)
            return order != 0 ? order < 0 : left.offset < right.offset
        }
        return keys.map { Child(ChildKey($0.element), node.child(ChildKey($0.element))) }
    }

    @Test("neighbours of any position are those in the sorted children")
    func neighbours() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let node = random.node(depth: 2)
            let index = random.pick(Self.indexes)
            let children = node.children(by: index)
            let other = Child(random.key(), random.node(depth: 1))
            for position in [index.position(of: other), .min, .max] {
                func order(_ child: Child) -> Int {
                    index.position(of: child).order(to: position)
                }
                #expect(children.first(after: position) == children.first { order($0) > 0 })
                #expect(
                    children.first(after: position, orEqual: true)
                        == children.first { order($0) >= 0 })
                #expect(children.last(before: position) == children.last { order($0) < 0 })
                #expect(
                    children.last(before: position, orEqual: true)
                        == children.last { order($0) <= 0 }, "\(random)")
            }
        }
    }

    @Test("an order is kept and follows a change with few new blocks")
    func incremental() throws {
        var random = SeededRandom()
        let node = Node(
            children: (0..<20_000).map {
                Child(ChildKey("k\($0)"), Node(.integer(Int64(random.below(1000)))))
            })
        #expect(node.children(by: .value).count == 20_000)
        let branch = try #require(node.branch)
        let before = branch.positions(in: .value).blocks
        #expect(branch.positions(in: .value).blocks == before)
        let changed = node.settingChild(ChildKey("k7"), to: Node(.integer(2000)))
        let after = try #require(changed.branch).positions(in: .value).blocks
        #expect(after.subtracting(before).count <= 16)
        #expect(changed.children(by: .value).last?.key == ChildKey("k7"))
        #expect(changed.settingPriority(.string("p")).branch?.positions(in: .value).blocks == after)
    }

    @Test("only the latest eight orders are kept")
    func manyOrders() throws {
        let node = try Node(parsing: #"{"x":{"a":1},"y":{"b":1}}"#)
        for number in 0..<20 {
            #expect(node.children(by: .child(TreePath("p\(number)"))).count == 2)
        }
        #expect(Array(node.children(by: .child(TreePath("a")))).map(\.key.text) == ["y", "x"])
    }

    @Test("a child moved if what its index orders it by changed")
    func moves() throws {
        let (one, two) = (try Node(parsing: "1"), try Node(parsing: #"{".value":1,".priority":2}"#))
        #expect(NodeIndex.priority.isIndexedValueChanged(from: one, to: two))
        #expect(NodeIndex.value.isIndexedValueChanged(from: one, to: two))
        #expect(!NodeIndex.key.isIndexedValueChanged(from: one, to: two))
        let path = NodeIndex.child(TreePath("a"))
        let (x, y, z) = (
            try Node(parsing: #"{"a":{"x":1}}"#), try Node(parsing: #"{"a":{"y":1}}"#),
            try Node(parsing: #"{"a":5}"#)
        )
        #expect(!path.isIndexedValueChanged(from: x, to: y))
        #expect(path.isIndexedValueChanged(from: x, to: z))
    }
}

extension JSONValue {
    /// The value of a leaf in the export format.
    fileprivate var withoutPriority: JSONValue { self[".value"] ?? self }
}
