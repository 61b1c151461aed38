/// A subtree of the database, as a value: empty, a leaf, or children in the order of their keys.
///
/// Nodes are persistent: a change copies the nodes on its path and shares all others. A node never
/// holds empty children, and an empty node never holds a priority. Hashes, sizes and index orders
/// are computed when first asked for, and kept with the node.
@usableFromInline package struct Node: Sendable {
    let storage: Storage

    enum Storage: Sendable {
        case empty
        case leaf(LeafValue)
        case prioritizedLeaf(PrioritizedLeaf)
        case branch(Branch)
    }

    /// A leaf with a priority, which is rare, and takes no room in other leaves.
    final class PrioritizedLeaf: Sendable {
        let value: LeafValue
        let priority: Priority

        init(_ value: LeafValue, _ priority: Priority) {
            self.value = value
            self.priority = priority
        }
    }

    /// Nothing: null.
    package static let empty = Node(storage: .empty)

    init(storage: Storage) {
        self.storage = storage
    }

    /// A leaf.
    package init(_ value: LeafValue, priority: Priority = .none) {
        if case .none = priority {
            storage = .leaf(value)
        } else {
            storage = .prioritizedLeaf(PrioritizedLeaf(value, priority))
        }
    }

    /// A priority as a node: a leaf without a priority, or empty.
    package init(_ priority: Priority) {
        storage = priority.leaf.map { .leaf($0) } ?? .empty
    }

    init(_ children: SortedTree<Child>, _ priority: Priority) {
        storage = children.isEmpty ? .empty : .branch(Branch(children, priority))
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
        self.init(children: Array(children), priority: priority)
    }

    /// A node with children in any order; the last of a key is kept, and empty nodes are ignored.
    package init(children: [Child], priority: Priority = .none) {
        var kept = children
        let isSorted = kept.indices.dropFirst().allSatisfy { kept[$0 - 1].key < kept[$0].key }
        if !isSorted {
            // The sort is stable: children of one key stay in their order.
            var unique: [Child] = []
            for child in kept.sorted(by: { $0.key < $1.key }) {
                if unique.last?.key == child.key { unique.removeLast() }
                unique.append(child)
            }
            kept = unique
        }
        if kept.contains(where: \.node.isEmpty) { kept.removeAll { $0.node.isEmpty } }
        self.init(sortedChildren: kept, priority: priority)
    }
}

// MARK: - Reading

extension Node {
    /// True for null.
    package var isEmpty: Bool {
        if case .empty = storage { true } else { false }
    }

    /// True for a leaf.
    package var isLeaf: Bool {
        switch storage {
        case .leaf, .prioritizedLeaf: true
        case .empty, .branch: false
        }
    }

    /// The value of a leaf; nil for other nodes.
    package var leafValue: LeafValue? {
        switch storage {
        case .leaf(let value): value
        case .prioritizedLeaf(let leaf): leaf.value
        case .empty, .branch: nil
        }
    }

    /// The node's priority.
    package var priority: Priority {
        switch storage {
        case .empty, .leaf: .none
        case .prioritizedLeaf(let leaf): leaf.priority
        case .branch(let branch): branch.priority
        }
    }

    /// The count of children.
    package var childCount: Int { branch?.children.count ?? 0 }

    var branch: Branch? {
        guard case .branch(let branch) = storage else { return nil }
        return branch
    }

    /// A child, or for `.priority` the node's priority; empty where there is none.
    ///
    /// Complexity: logarithmic in the count of children.
    package func child(_ key: ChildKey) -> Node {
        if let found = branch?.children[key: key] { return found.node }
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
        branch?.children[key: key] != nil
    }

    /// True if any value or priority is one that the server has yet to compute.
    package var hasDeferredValues: Bool {
        if case .deferred = priority { return true }
        switch storage {
        case .leaf(.deferred): return true
        case .prioritizedLeaf(let leaf):
            if case .deferred = leaf.value { return true }
            return false
        case .branch(let branch): return branch.summary.hasDeferredValues
        case .leaf, .empty: return false
        }
    }

    /// The estimated length of the node's JSON, by which clients decide what to send: the same
    /// estimate as in Firebase's clients.
    package var estimatedSize: Int {
        switch storage {
        case .empty: 4
        case .leaf(let value): value.estimatedSize
        case .prioritizedLeaf(let leaf):
            24 + Node(leaf.priority).estimatedSize + leaf.value.estimatedSize
        case .branch(let branch):
            1 + branch.summary.estimatedSize
                + (branch.priority == .none
                    ? 0
                    : ChildrenSummary.estimatedSize(
                        of: .priority, Node(branch.priority).estimatedSize))
        }
    }
}

extension LeafValue {
    var estimatedSize: Int {
        switch self {
        case .boolean: 4
        case .number: 8
        case .string(let text): Self.estimatedSize(ofUTF16Count: text.utf16.count)
        case .deferred: 4
        }
    }

    /// The estimated size of a string.
    static func estimatedSize(ofUTF16Count count: Int) -> Int { 2 + count }
}

// MARK: - Equality

extension Node: Equatable {
    /// Equality of values, priorities and children.
    ///
    /// Complexity: what both nodes share is not compared.
    @usableFromInline package static func == (left: Node, right: Node) -> Bool {
        switch (left.storage, right.storage) {
        case (.branch(let l), .branch(let r)): l === r || l.hasSameContent(as: r)
        default:
            left.branch == nil && right.branch == nil && left.leafValue == right.leafValue
                && left.priority == right.priority
        }
    }
}

extension Node {
    /// The estimated size from which nodes are not compared by ``isSame(as:)``.
    private static let largeBytes = 64 << 10

    /// True for the same node, or an equal one that is small.
    package func isSame(as other: Node) -> Bool {
        if case (.branch(let left), .branch(let right)) = (storage, other.storage) {
            return left === right || (estimatedSize < Self.largeBytes && self == other)
        }
        return self == other
    }
}

extension Branch {
    fileprivate func hasSameContent(as other: Branch) -> Bool {
        guard children.count == other.children.count, priority == other.priority else {
            return false
        }
        var isSame = true
        SortedTree.forEachDifference(from: children, to: other.children) { left, right in
            isSame = left == right
            return isSame ? .continue : .stop
        }
        return isSame
    }
}
