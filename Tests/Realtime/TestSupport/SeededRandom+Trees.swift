package import LarderRealtimeModel
package import LarderSharedTestSupport

// MARK: - Trees

extension SeededRandom {
    private static let keys = [
        "a", "b", "c", "d", "foo", "bar", "0", "1", "2", "10", "01", "-5", "2147483647",
        "2147483648", "é", "\u{ffff}", "😀", "+x", "-Kx", "zz",
    ]

    /// A key, often one that others have.
    package mutating func key() -> ChildKey {
        oneIn(12) ? ChildKey("k\(below(1000))") : ChildKey(pick(Self.keys))
    }

    /// A path of at most so many components.
    package mutating func path(maximumDepth: Int = 3) -> TreePath {
        TreePath((0..<below(maximumDepth + 1)).map { _ in key() })
    }

    /// A number, a string or a boolean, often equal to others.
    package mutating func leafValue() -> LeafValue {
        switch below(10) {
        case 0: .boolean(oneIn(2))
        case 1...4: .integer(Int64(below(20)) - 5)
        case 5: .double(Double(below(40)) / 4 - 3) ?? .integer(0)
        case 6: .double(pick([-0.0, 1e300, 2.2250738585072014e-308, 0.1, 1 / 3])) ?? .integer(0)
        case 7: .integer(pick([.max, .min, 1 << 53, 1 << 53 + 1]))
        default:
            .string(
                pick(["", "x", "y", "\"q\\", "é", "\u{e000}", "😀", "longer text than fits inline"]))
        }
    }

    /// A priority, mostly none.
    package mutating func priority() -> Priority {
        oneIn(4) ? Priority(leafValue()) ?? .none : .none
    }

    /// A node of at most so many levels, sometimes empty.
    package mutating func node(depth: Int = 3, priorities: Bool = true) -> Node {
        if oneIn(8) { return .empty }
        let priority = priorities ? priority() : .none
        if depth == 0 || oneIn(3) { return Node(leafValue(), priority: priority) }
        let children = (0..<below(oneIn(10) ? 60 : 6)).map { _ in
            Child(key(), node(depth: depth - 1, priorities: priorities))
        }
        return Node(children: children, priority: priority)
    }
}

extension SeededRandom {
    /// A leaf without a priority.
    package mutating func leaf() -> Node { Node(leafValue()) }
}

extension Node {
    /// The node of a text in the export format.
    package init(parsing text: String) throws {
        self = try Node(exported: JSONValue(parsing: Array(text.utf8), maximumDepth: 1000))
    }
}

// MARK: - Queries

extension SeededRandom {
    /// A query of any order, with bounds and a limit at times.
    package mutating func query() -> QueryParameters {
        let index: NodeIndex = pick([
            .priority, .key, .value, .child(TreePath("a")), .child(TreePath("foo/a")),
        ])
        var builder = QueryBuilder()
        func apply(_ build: (QueryBuilder) throws -> QueryBuilder) {
            if let built = try? build(builder) { builder = built }
        }
        apply { try $0.ordered(by: index) }
        let (first, second) = (bound(of: index), bound(of: index))
        switch below(6) {
        case 0: apply { try $0.starting(at: first.value, key: first.key) }
        case 1: apply { try $0.starting(after: first.value, key: first.key) }
        case 2: apply { try $0.equal(to: first.value, key: first.key) }
        default: break
        }
        switch below(4) {
        case 0: apply { try $0.ending(at: second.value, key: second.key) }
        case 1: apply { try $0.ending(before: second.value, key: second.key) }
        default: break
        }
        let count = 1 + below(6)
        switch below(3) {
        case 0: apply { try $0.limited(toFirst: count) }
        case 1: apply { try $0.limited(toLast: count) }
        default: break
        }
        return builder.parameters
    }

    private mutating func bound(of index: NodeIndex) -> (value: JSONValue, key: String?) {
        if index == .key { return (.string(key().text), nil) }
        let value = oneIn(6) ? .null : leafValue().json
        return (value, oneIn(3) ? key().text : nil)
    }
}
