/// Makes a node of children that come one after another, in any order.
///
/// As long as their keys ascend, which is how servers and stores send them, there is no array of all
/// children.
package struct ChildrenBuilder {
    private let compressor: ChildrenCompressor?
    private var ordered: SortedTreeBuilder<Child>
    private var lastKey: ChildKey?
    /// Empty nodes, which are no children but have names.
    private var emptyChildren: [Child] = []
    /// All children in the order in which they came, once their keys no longer ascend.
    private var unordered: [Child]?

    /// - Parameter compressor: what compresses the children of a large tree; nil for none.
    package init(_ compressor: ChildrenCompressor? = nil) {
        self.compressor = compressor
        ordered = Self.orderedBuilder(compressor)
    }

    private static func orderedBuilder(
        _ compressor: ChildrenCompressor?
    ) -> SortedTreeBuilder<Child> {
        guard let compressor else { return SortedTreeBuilder() }
        return SortedTreeBuilder { compressor.pack($0) }
    }

    /// True if nothing was appended, not even an empty node.
    package private(set) var isEmpty = true

    /// Adds a child; an empty one removes an earlier one of its key.
    package mutating func append(_ child: Child) {
        isEmpty = false
        if unordered == nil, let lastKey, child.key <= lastKey {
            unordered = emptyChildren + ordered.elements
            (ordered, emptyChildren) = (Self.orderedBuilder(compressor), [])
        }
        guard unordered == nil else {
            unordered?.append(child)
            return
        }
        lastKey = child.key
        if child.node.isEmpty {
            emptyChildren.append(child)
        } else {
            ordered.append(child)
        }
    }

    /// A key that was appended twice; nil for none.
    var duplicateKey: ChildKey? {
        guard let unordered else { return nil }
        let keys = unordered.map(\.key).sorted()
        return zip(keys, keys.dropFirst()).first { $0 == $1 }?.0
    }

    /// The node of the children; the last of a key is kept.
    package func node(priority: Priority = .none) -> Node {
        guard let unordered else { return Node(ordered.tree, priority) }
        let node = Node(children: unordered, priority: priority)
        guard compressor != nil else { return node }
        var sorted = ordered
        for child in node.children { sorted.append(child) }
        return Node(sorted.tree, priority)
    }
}
