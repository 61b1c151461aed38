package import LarderRealtimeModel

/// A node of which some or all is known.
package struct CachedNode: Sendable {
    package var node: Node
    /// True if the node is all that its query selects; false if children may be missing.
    package var isComplete: Bool
    /// True if the node holds a query's window only: other children may exist.
    package var isFiltered: Bool
    /// The last child of a stored window, if more children follow it in the store.
    ///
    /// The node has all children of the location up to it.
    package var edge: Child?
    /// True if the node has all children between its query's bounds, whatever the limit is.
    package var isExhaustive = false

    package init(
        _ node: Node, isComplete: Bool, isFiltered: Bool = false, edge: Child? = nil
    ) {
        self.node = node
        self.isComplete = isComplete
        self.isFiltered = isFiltered
        self.edge = edge
    }

    /// Nothing is known.
    package static let unknown = CachedNode(.empty, isComplete: false)

    /// True if the node is the location's whole content.
    var isWholeLocation: Bool { isComplete && !isFiltered }

    /// True if a child, or its absence, is known.
    func isComplete(for key: ChildKey) -> Bool {
        isWholeLocation || !node.child(key).isEmpty
    }

    /// True if the node at a path below is known.
    func isComplete(for path: TreePath) -> Bool {
        path.first.map { isComplete(for: $0) } ?? isWholeLocation
    }
}
