extension Node {
    /// The node with another child at a key; an empty child removes it.
    ///
    /// A child below a leaf replaces the leaf and takes over its priority; removing one there
    /// changes nothing. The key `.priority` sets the priority.
    package func settingChild(_ key: ChildKey, to child: Node) -> Node {
        if key == .priority { return settingPriority(Priority(child.leafValue) ?? .none) }
        if child.isEmpty {
            guard let branch, branch.children[key] != nil else { return self }
            var children = branch.children
            children.remove(key)
            return Node(children, branch.priority)
        }
        var children = branch?.children ?? SortedTree()
        children.insert(Child(key, child))
        return Node(children, priority)
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
        case .leaf(let value, _): Node(value, priority: priority)
        case .branch(let branch): Node(branch.children, priority)
        }
    }

    /// The node with several other children, as if they were set one after the other.
    package func settingChildren(_ changes: some Sequence<Child>) -> Node {
        changes.reduce(self) { $0.settingChild($1.key, to: $1.node) }
    }
}
