/// A child with its key.
package struct Child: Sendable, Equatable {
    package let key: ChildKey
    package let node: Node

    package init(_ key: ChildKey, _ node: Node) {
        self.key = key
        self.node = node
    }
}

extension Child: SortedTreeElement {
    typealias Checkpoint = SHA1
    typealias Packed = PackedChildren

    var sortKey: ChildKey { key }
    var summary: ChildrenSummary { ChildrenSummary(self) }

    static func order(_ left: ChildKey, _ right: ChildKey) -> Int { left.order(to: right) }
}

/// The summary of a range of children.
struct ChildrenSummary: SortedTreeSummary, Equatable {
    /// The estimated size of the keys and nodes.
    private(set) var estimatedSize = 0
    /// True if any child has a priority.
    private(set) var hasPriorities = false
    /// True if any value below is one that the server has yet to compute.
    private(set) var hasDeferredValues = false

    init() {}

    init(_ child: Child) {
        estimatedSize = Self.estimatedSize(of: child.key, child.node.estimatedSize)
        // Most children are leaves without a priority.
        if case .leaf(let value) = child.node.storage {
            if case .deferred = value { hasDeferredValues = true }
            return
        }
        hasPriorities = child.node.priority != .none
        hasDeferredValues = child.node.hasDeferredValues
    }

    /// The summary of leaves without priorities, none of them a deferred value.
    init(leavesOfEstimatedSize size: Int) {
        estimatedSize = size
    }

    mutating func add(_ other: ChildrenSummary) {
        estimatedSize += other.estimatedSize
        hasPriorities = hasPriorities || other.hasPriorities
        hasDeferredValues = hasDeferredValues || other.hasDeferredValues
    }

    /// The estimated size of a child with its key.
    static func estimatedSize(of key: ChildKey, _ nodeSize: Int) -> Int {
        estimatedSize(ofUTF16Count: key.text.utf16.count, nodeSize)
    }

    static func estimatedSize(ofUTF16Count count: Int, _ nodeSize: Int) -> Int {
        count + 4 + nodeSize
    }
}
