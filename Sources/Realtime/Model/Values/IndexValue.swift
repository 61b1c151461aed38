/// The part of a node that an index orders by, before its key.
///
/// The order is that of values: null, values that the server computes, false, true, numbers,
/// strings, and nodes with children, which are all equal.
package enum IndexValue: Hashable, Sendable {
    case null
    case leaf(LeafValue)
    case children
    /// Above all values of nodes: the end of an order.
    case maximum

    /// The sort value of a node where nodes are compared by their values.
    package init(_ node: Node) {
        if let leaf = node.leafValue {
            self = .leaf(leaf)
        } else {
            self = node.isEmpty ? .null : .children
        }
    }

    /// The order of both values: below, equal to or above 0.
    package func order(to other: IndexValue) -> Int {
        switch (self, other) {
        case (.leaf(.number(let left)), .leaf(.number(let right))): left.order(to: right)
        case (.leaf(.string(let left)), .leaf(.string(let right))): left.utf16Order(to: right)
        default: rank - other.rank
        }
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .leaf(.deferred): 1
        case .leaf(.boolean(false)): 2
        case .leaf(.boolean(true)): 3
        case .leaf(.number): 4
        case .leaf(.string): 5
        case .children: 6
        case .maximum: 7
        }
    }
}
