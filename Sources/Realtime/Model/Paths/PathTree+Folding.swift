/// A tree of written nodes: where a node is written, nothing below it is kept apart.
extension PathTree where Value == Node {
    /// Writes a node over what is written already: into the node at or above the path if there is
    /// one, otherwise in place of all nodes below it.
    package mutating func fold(_ node: Node, at path: TreePath) {
        if let value {
            updateValue { $0 = value.setting(path, to: node) }
        } else if let key = path.first {
            updateChild(key) { $0.fold(node, at: path.dropFirst()) }
        } else {
            self = PathTree(node)
        }
    }

    /// Takes back what is written at a path and below it.
    ///
    /// A node written above is split, so that the rest of it stays; a leaf stays whole.
    ///
    /// - Returns: false if nothing was taken back.
    package mutating func unfold(at path: TreePath) -> Bool {
        guard let key = path.first else {
            defer { self = PathTree() }
            return !isEmpty
        }
        if let value {
            if value.isLeaf || value.node(at: path).isEmpty { return false }
            self = PathTree()
            for child in value.children { fold(child.node, at: TreePath([child.key])) }
            if value.priority != .none { fold(Node(value.priority), at: TreePath([.priority])) }
        }
        guard child(key) != nil else { return false }
        return updateChild(key) { $0.unfold(at: path.dropFirst()) }
    }
}
