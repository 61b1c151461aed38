/// New content for a range of a node's leaves.
package struct RangeMerge: Equatable, Sendable {
    /// The last leaf before the range, relative to the node; nil if the range begins with the first
    /// one.
    package let start: TreePath?
    /// The last leaf of the range; nil if the range has no end.
    package let end: TreePath?
    /// A node with the content of the range, and nothing else.
    package let content: Node

    package init(after start: TreePath?, through end: TreePath?, _ content: Node) {
        self.start = start
        self.end = end
        self.content = content
    }

    /// A node with its leaves within the range replaced by the content.
    package func applied(to node: Node) -> Node {
        merge(content, into: node, at: .root)
    }

    private func merge(_ new: Node, into old: Node, at path: TreePath) -> Node {
        let isInside = start.map { path > $0 } ?? true && end.map { path <= $0 } ?? true
        let containsStart = start.map { path.isAncestorOrEqual(of: $0) } ?? false
        let containsEnd = end.map { path.isAncestorOrEqual(of: $0) } ?? false
        if isInside && (!containsEnd || new.isLeaf) { return new }
        guard containsStart || containsEnd else { return old }
        // A leaf here lies within the range or outside, what is below on either side.
        let base = isInside && old.isLeaf ? .empty : old
        if path == end { return base }
        let keys = Set(base.children.map(\.key)).union(new.children.map(\.key))
        let children = keys.map { key in
            Child(key, merge(new.child(key), into: base.child(key), at: path.child(key)))
        }
        let priority = merge(
            new.child(.priority), into: base.child(.priority), at: path.child(.priority))
        let result = Node(children: children, priority: Priority(priority.leafValue) ?? .none)
        return result.isEmpty && base.isLeaf ? base : result
    }
}

extension Node {
    /// The node with only its leaves above one path and up to another; nil if a priority would be
    /// left without any child of its node.
    func leaves(
        after start: TreePath?, through end: TreePath?, at path: TreePath = .root
    ) -> Node? {
        let isInside = start.map { path > $0 } ?? true && end.map { path <= $0 } ?? true
        let containsStart = start.map { path.isAncestorOrEqual(of: $0) } ?? false
        let containsEnd = end.map { path.isAncestorOrEqual(of: $0) } ?? false
        guard containsStart || containsEnd else { return isInside ? self : .empty }
        guard let branch else { return isInside ? self : .empty }
        var children: [Child] = []
        for child in branch.children {
            guard
                let part = child.node.leaves(after: start, through: end, at: path.child(child.key))
            else { return nil }
            if !part.isEmpty { children.append(Child(child.key, part)) }
        }
        let ownPriority = child(.priority).leaves(
            after: start, through: end, at: path.child(.priority))
        let priority = Priority(ownPriority?.leafValue) ?? .none
        if children.isEmpty && priority != .none { return nil }
        return Node(sortedChildren: children, priority: priority)
    }
}
