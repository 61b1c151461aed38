/// A subtree of the database, as a value: empty, a leaf, or children in the order of their keys.
///
/// Nodes are persistent: a change copies the nodes on its path and shares all others. A node never
/// holds empty children, and an empty node never holds a priority.
package struct Node: Sendable {
    let storage: Storage

    enum Storage: Sendable {
        case empty
        case leaf(LeafValue, Priority)
        case branch(Branch)
    }

    /// Nothing: null.
    package static let empty = Node(storage: .empty)

    init(storage: Storage) {
        self.storage = storage
    }

    /// A leaf.
    package init(_ value: LeafValue, priority: Priority = .none) {
        storage = .leaf(value, priority)
    }

    /// A node with children, or an empty node without any.
    ///
    /// - Parameter children: with ascending keys, none twice, and no empty node.
    ///
    /// Complexity: linear in the count of children.
    package init(sortedChildren children: [Child], priority: Priority = .none) {
        self.init(SortedTree(sorted: children), priority)
    }

    /// A node with children in any order; the last of a key is kept, and empty nodes are ignored.
    package init(children: some Sequence<Child>, priority: Priority = .none) {
        var kept: [Child] = []
        // The sort is stable.
        for child in children.sorted(by: { $0.key < $1.key }) {
            if kept.last?.key == child.key { kept.removeLast() }
            kept.append(child)
        }
        kept.removeAll { $0.node.isEmpty }
        self.init(sortedChildren: kept, priority: priority)
    }
}

extension Node {
    init(_ children: SortedTree<Child>, _ priority: Priority) {
        storage = children.count == 0 ? .empty : .branch(Branch(children, priority))
    }
}

// MARK: - Reading

extension Node {
    /// True for null.
    package var isEmpty: Bool {
        if case .empty = storage { true } else { false }
    }

    /// True for a leaf.
    package var isLeaf: Bool { leafValue != nil }

    /// The value of a leaf; nil for other nodes.
    package var leafValue: LeafValue? {
        guard case .leaf(let value, _) = storage else { return nil }
        return value
    }

    /// The node's priority.
    package var priority: Priority {
        switch storage {
        case .empty: .none
        case .leaf(_, let priority): priority
        case .branch(let branch): branch.priority
        }
    }

    /// The count of children.
    package var childCount: Int { branch?.children.count ?? 0 }

    var branch: Branch? {
        guard case .branch(let branch) = storage else { return nil }
        return branch
    }

    /// A child, or the node's priority as a leaf; empty where there is none.
    package func child(_ key: ChildKey) -> Node {
        if let found = branch?.children[key] { return found.node }
        return key == .priority ? Node(priority) : .empty
    }

    /// The node at a path below this one; empty where there is none.
    package func node(at path: TreePath) -> Node {
        var node = self
        for key in path {
            if node.isEmpty { break }
            node = node.child(key)
        }
        return node
    }

    /// True if there is a child of that key.
    package func hasChild(_ key: ChildKey) -> Bool {
        branch?.children[key] != nil
    }

    /// A priority as a node: a leaf without a priority, or empty.
    package init(_ priority: Priority) {
        storage = priority.leaf.map { .leaf($0, .none) } ?? .empty
    }

    /// The children in the order of their keys.
    package var children: Children { Children(tree: branch?.children ?? SortedTree()) }

    /// The children of a node in the order of their keys.
    package struct Children: Sequence, Sendable {
        let tree: SortedTree<Child>

        package var count: Int { tree.count }
        package var first: Child? { tree.first }
        package var last: Child? { tree.last }

        package struct Iterator: IteratorProtocol {
            var base: SortedTree<Child>.Iterator

            package mutating func next() -> Child? { base.next() }
        }

        package func makeIterator() -> Iterator { Iterator(base: tree.makeIterator()) }
    }
}

// MARK: - Equality

extension Node: Equatable {
    /// Equality of values, priorities and children; what both nodes share is not compared.
    package static func == (left: Node, right: Node) -> Bool {
        switch (left.storage, right.storage) {
        case (.empty, .empty): true
        case (.leaf(let l, let lp), .leaf(let r, let rp)): l == r && lp == rp
        case (.branch(let l), .branch(let r)):
            l === r
                || l.children.count == r.children.count && l.priority == r.priority
                    && l.children.elementsEqual(r.children)
        default: false
        }
    }
}
