extension Node {
    /// The node with another child at a key; an empty child removes it.
    ///
    /// A child below a leaf replaces the leaf and takes over its priority; removing one there
    /// changes nothing. The key `.priority` sets the priority.
    ///
    /// Complexity: logarithmic in the count of children.
    package func settingChild(_ key: ChildKey, to child: Node) -> Node {
        if key == .priority { return settingPriority(Priority(child.leafValue) ?? .none) }
        if let branch { return branch.replacing(key, with: child) }
        return child.isEmpty
            ? self : Node(sortedChildren: [Child(key, child)], priority: priority)
    }

    /// The node with another node at a path below it; nodes on the path are created, or removed
    /// when they become empty.
    package func setting(_ path: TreePath, to node: Node) -> Node {
        guard let key = path.first else { return node }
        if path.count == 1 { return settingChild(key, to: node) }
        return settingChild(key, to: child(key).setting(path.dropFirst(), to: node))
    }

    /// The node with another priority; an empty node stays empty.
    package func settingPriority(_ priority: Priority) -> Node {
        switch storage {
        case .empty: self
        case .leaf(let value): Node(value, priority: priority)
        case .prioritizedLeaf(let leaf): Node(leaf.value, priority: priority)
        case .branch(let branch): branch.withPriority(priority)
        }
    }

    /// The node with several other children, all at once: it keeps its priority unless it is empty
    /// then.
    ///
    /// - Parameter changes: children of different keys, none of them `.priority`; empty ones are
    ///   removed.
    ///
    /// Complexity: linear in the count of changes and logarithmic in that of children, or linear in
    /// both where that is less.
    package func settingChildren(_ changes: [Child]) -> Node {
        if changes.count > 8, changes.count > childCount / 8 {
            let result = Node(children: Array(children) + changes, priority: priority)
            return result.isEmpty && isLeaf ? self : result
        }
        // A node that became empty in between would lose its priority.
        var result = self
        for change in changes where !change.node.isEmpty {
            result = result.settingChild(change.key, to: change.node)
        }
        for change in changes where change.node.isEmpty {
            result = result.settingChild(change.key, to: .empty)
        }
        return result
    }
}
