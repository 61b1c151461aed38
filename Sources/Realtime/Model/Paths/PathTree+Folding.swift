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
    /// A node written above is split into its children, so that the others stay; a leaf stays whole.
    package mutating func unfold(at path: TreePath) {
        guard let key = path.first else {
            self = PathTree()
            return
        }
        if let value {
            if value.isLeaf { return }
            self = PathTree()
            for child in value.children { fold(child.node, at: TreePath([child.key])) }
            if value.priority != .none { fold(Node(value.priority), at: TreePath([.priority])) }
        }
        if child(key) != nil { updateChild(key) { $0.unfold(at: path.dropFirst()) } }
    }
}
