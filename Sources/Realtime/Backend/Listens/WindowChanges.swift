import LarderRealtimeModel

/// The changes that turn the content of a query before a write into that after it.
///
/// Only the changed children are looked at, and those that enter or leave because the window
/// moved: at most as many as changed.
struct WindowChanges {
    private let old: Window
    private let new: Window

    /// The change between two nodes at a query's location.
    init(_ parameters: QueryParameters, from old: Node, to new: Node) {
        self.old = Window(parameters, old)
        self.new = Window(parameters, new)
    }

    /// The nodes to write into the client's content, removals first.
    ///
    /// - Parameter changed: the keys of the children that differ, each with the nodes that were
    ///   written below it; none for a child that was replaced as a whole.
    func values(changed: [ChildKey: [PathValue]]) -> [PathValue] {
        var (removed, written): ([PathValue], [PathValue]) = ([], [])
        for key in changed.keys.sorted() {
            let path = TreePath([key])
            switch (old.child(key), new.child(key)) {
            case (nil, nil): break
            case (_?, nil): removed.append(PathValue(path, .empty))
            case (nil, let node?): written.append(PathValue(path, node))
            case (_?, let node?):
                let deep = changed[key] ?? []
                written += deep.isEmpty ? [PathValue(path, node)] : deep
            }
        }
        for child in old.movedChildren(changed, missingIn: new) {
            removed.append(PathValue(TreePath([child.key]), .empty))
        }
        for child in new.movedChildren(changed, missingIn: old) {
            written.append(PathValue(TreePath([child.key]), child.node))
        }
        return removed + written
    }
}

/// The children of a node that belong to a query.
private struct Window {
    private let node: Node
    private let parameters: QueryParameters
    private let children: Slice<Node.Children>

    init(_ parameters: QueryParameters, _ node: Node) {
        self.node = node
        self.parameters = parameters
        children = parameters.window(of: node)
    }

    /// A child in the window; nil if there is none.
    func child(_ key: ChildKey) -> Node? {
        let child = node.child(key)
        return !child.isEmpty && contains(Child(key, child)) ? child : nil
    }

    /// True if a child of the node is in the window.
    private func contains(_ child: Child) -> Bool {
        let position = parameters.index.position(of: child)
        let (offset, isFound) = children.base.offset(of: position)
        return isFound && children.indices.contains(offset)
    }

    /// The unchanged children that are not in another window, because the window's open end has
    /// moved across them.
    func movedChildren(_ changed: [ChildKey: [PathValue]], missingIn other: Window) -> [Child] {
        guard let limit = parameters.limit else { return [] }
        var moved: [Child] = []
        for offset in 0..<children.count {
            let child =
                limit.anchor == .first
                ? children[children.endIndex - 1 - offset]
                : children[children.startIndex + offset]
            if changed[child.key] != nil { continue }
            if other.contains(child) { break }
            moved.append(child)
        }
        return moved
    }
}
