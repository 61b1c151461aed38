package import LarderRealtimeModel
package import LarderRealtimeSync
package import LarderSharedTestSupport

/// Trees of rooms with messages, queries of them and writes to them.
extension SeededRandom {
    private mutating func room() -> ChildKey { ChildKey(pick(["a", "b"])) }

    private mutating func message() -> ChildKey { ChildKey("m\(below(9))") }

    /// A message: an object with a number, at times a priority and more.
    private mutating func messageNode() -> Node {
        if oneIn(6) { return .empty }
        if oneIn(10) { return Node(.integer(Int64(below(6)))) }
        var node = Node.empty.setting(TreePath("n"), to: Node(.integer(Int64(below(6)))))
        if oneIn(2) { node = node.setting(TreePath("t"), to: Node(.string("x\(below(4))"))) }
        if oneIn(4) { node = node.setting(TreePath("o/p"), to: Node(.integer(Int64(below(6))))) }
        if oneIn(3) { node = node.settingPriority(.number(LeafNumber(Int64(below(4))))) }
        return node
    }

    private mutating func roomNode() -> Node {
        Node(children: (0..<below(10)).map { _ in Child(message(), messageNode()) })
    }

    package mutating func rooms() -> Node {
        Node(children: [Child(ChildKey("a"), roomNode()), Child(ChildKey("b"), roomNode())])
    }

    package mutating func roomQuery() -> QuerySpec {
        switch below(10) {
        case 0: return QuerySpec(.root)
        case 1: return QuerySpec(TreePath([room(), message()]))
        case 2, 3: return QuerySpec(TreePath([room()]))
        default: break
        }
        var builder = QueryBuilder()
        func add(_ build: (QueryBuilder) throws -> QueryBuilder) {
            if let built = try? build(builder) { builder = built }
        }
        let isByKey = oneIn(4)
        switch below(4) {
        case _ where isByKey: add { try $0.ordered(by: .key) }
        case 0: add { try $0.ordered(byChild: "n") }
        case 1: add { try $0.ordered(byChild: "o/p") }
        case 2: add { try $0.ordered(by: .value) }
        default: break
        }
        let (low, high) = (Int64(below(4)), Int64(3 + below(4)))
        if oneIn(4) { add { try $0.starting(at: isByKey ? .string("m\(low)") : .integer(low)) } }
        if oneIn(4) {
            add { try $0.ending(before: isByKey ? .string("m\(high)") : .integer(high)) }
        }
        let count = 1 + below(4)
        switch below(3) {
        case 0: add { try $0.limited(toFirst: count) }
        case 1: add { try $0.limited(toLast: count) }
        default: break
        }
        return QuerySpec(TreePath([room()]), builder.parameters)
    }

    package mutating func roomWrite() -> (TreePath, PendingWrite.Change) {
        let room = room()
        switch below(16) {
        case 0: return (.root, .overwrite(rooms()))
        case 1: return (TreePath([room]), .overwrite(roomNode()))
        case 2...6: return (TreePath([room, message()]), .overwrite(messageNode()))
        case 7...9:
            return (TreePath([room, message()]).appending(field()), .overwrite(fieldNode()))
        case 10...12:
            let values = Dictionary(
                (0..<1 + below(4)).map { _ in (message(), messageNode()) }, uniquingKeysWith: { $1 }
            )
            return (
                TreePath([room]),
                .merge(
                    values.sorted { $0.key < $1.key }.map {
                        PathValue(TreePath([$0.key]), $0.value)
                    })
            )
        default:
            let values = Dictionary(
                (0..<1 + below(4)).map { _ in
                    (TreePath([message()]).appending(field()), fieldNode())
                }, uniquingKeysWith: { $1 })
            return (
                TreePath([room]),
                .merge(values.sorted { $0.key < $1.key }.map { PathValue($0.key, $0.value) })
            )
        }
    }

    private mutating func field() -> TreePath { TreePath(pick(["n", "n", "t", "o/p", "o/q"])) }

    private mutating func fieldNode() -> Node { Node(.integer(Int64(below(6)))) }
}
