/// New content for a range of a node's leaves.
package struct RangeMerge: Equatable, Sendable {
    /// The leaf before the range; nil if it begins with the first leaf.
    package var start: TreePath?
    /// The last leaf of the range; nil if it has no end.
    package var end: TreePath?
    /// The content: what the node has within the range.
    package var node: Node

    package init(after start: TreePath?, through end: TreePath?, _ node: Node) {
        self.start = start
        self.end = end
        self.node = node
    }
}
