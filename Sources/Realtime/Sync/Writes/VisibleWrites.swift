import LarderRealtimeModel

/// The effect of visible pending writes on a location and everything below it.
///
/// Writes are folded by path: where a node is written, nothing below it is kept apart.
enum VisibleWrites: Sendable {
    /// Nothing is written here.
    case none
    /// The location itself, or one above it, is written: this is its content.
    case complete(Node)
    /// Some nodes below the location are written.
    case partial(PathTree<Node>)

    init(_ tree: PathTree<Node>?) {
        guard let tree, !tree.isEmpty else {
            self = .none
            return
        }
        self = tree.value.map { .complete($0) } ?? .partial(tree)
    }

    /// The content of the location if the writes say all of it.
    var completeNode: Node? {
        guard case .complete(let node) = self else { return nil }
        return node
    }

    /// True if nothing is written here.
    var isEmpty: Bool {
        if case .none = self { true } else { false }
    }

    /// The effect of the writes on a child.
    func child(_ key: ChildKey) -> VisibleWrites {
        switch self {
        case .none: .none
        case .complete(let node): .complete(node.child(key))
        case .partial(let tree): VisibleWrites(tree.child(key))
        }
    }

    /// The effect of the writes on a node below the location.
    func descending(to path: TreePath) -> VisibleWrites {
        path.reduce(self) { $0.child($1) }
    }
}

// MARK: - Layering

extension VisibleWrites {
    /// A node with the writes applied to it.
    ///
    /// A written priority is applied last, and only to a node that is not empty then.
    ///
    /// Complexity: that of the written nodes, each O(log n) among n siblings at most.
    func applied(to node: Node) -> Node {
        switch self {
        case .none: return node
        case .complete(let written): return written
        case .partial(let tree):
            let children = tree.sortedChildren.filter { $0.key != .priority }
            var result = node.settingChildren(
                children.map { Child($0.key, Self($0.tree).applied(to: node.child($0.key))) })
            if !result.isEmpty, let priority = tree.child(.priority)?.value {
                result = result.settingChild(.priority, to: priority)
            }
            return result
        }
    }

    /// The location's content with the writes applied; nil if neither they nor the server say all
    /// of it.
    func completeNode(over server: Node?) -> Node? {
        completeNode ?? server.map { applied(to: $0) }
    }

    /// The children whose content is complete: those that the server is known to have, with the
    /// writes applied, and those that are written as a whole.
    func completeChildren(over server: Node) -> Node {
        switch self {
        case .none: return server.isLeaf ? .empty : server.settingPriority(.none)
        case .complete(let node): return node.isLeaf ? .empty : node.settingPriority(.none)
        case .partial(let tree):
            let known = server.isLeaf ? .empty : server.settingPriority(.none)
            let children = tree.sortedChildren.filter { key, writes in
                key != .priority && (writes.value != nil || known.hasChild(key))
            }
            return known.settingChildren(
                children.map { Child($0.key, Self($0.tree).applied(to: known.child($0.key))) })
        }
    }

    /// A child of the location with the writes applied; nil if neither they nor the server say all
    /// of it.
    func completeChild(_ key: ChildKey, over server: CachedNode) -> Node? {
        child(key).completeChild(key, of: server)
    }

    /// The location as a child of another, with the writes applied; nil if neither they nor the
    /// server say all of it.
    func completeChild(_ key: ChildKey, of parent: CachedNode) -> Node? {
        if let completeNode { return completeNode }
        return parent.isComplete(for: key) ? applied(to: parent.node.child(key)) : nil
    }
}
