/// An order of the children of a node; equal children are ordered by their keys.
package enum NodeIndex: Hashable, Sendable {
    /// By their priorities.
    case priority
    /// By their keys alone.
    case key
    /// By their values.
    case value
    /// By the values at a path below them, which is not empty.
    case child(TreePath)

    /// The part of a child that the index orders by.
    package func indexValue(of node: Node) -> IndexValue {
        switch self {
        case .priority: node.priority.leaf.map { .leaf($0) } ?? .null
        case .key: .null
        case .value: IndexValue(node)
        case .child(let path): IndexValue(node.node(at: path))
        }
    }

    /// The position of a child.
    package func position(of child: Child) -> IndexPosition {
        IndexPosition(indexValue(of: child.node), child.key)
    }

    /// The order of two children: below, equal to or above 0.
    package func order(_ left: Child, _ right: Child) -> Int {
        position(of: left).order(to: position(of: right))
    }

    /// True if a child that changed is reported as moved: what the index orders it by differs.
    package func isIndexedValueChanged(from old: Node, to new: Node) -> Bool {
        switch self {
        case .priority: old.priority != new.priority
        case .key: false
        case .value: old != new
        case .child: indexValue(of: old).order(to: indexValue(of: new)) != 0
        }
    }
}

/// A position in an index: that of a child, or a bound between children.
package struct IndexPosition: Hashable, Sendable {
    package let value: IndexValue
    package let key: ChildKey

    package init(_ value: IndexValue, _ key: ChildKey) {
        self.value = value
        self.key = key
    }

    /// Below all children.
    package static let min = IndexPosition(.null, .min)

    /// Above all children.
    package static let max = IndexPosition(.maximum, .max)

    /// The order of both positions: below, equal to or above 0.
    package func order(to other: IndexPosition) -> Int {
        let order = value.order(to: other.value)
        return order != 0 ? order : key.order(to: other.key)
    }
}

extension IndexPosition: Comparable {
    package static func < (left: IndexPosition, right: IndexPosition) -> Bool {
        left.order(to: right) < 0
    }
}
