package import LarderRealtimeModel

/// A write to a tree: nodes at paths below a location, all or none.
package struct TreeWrite: Sendable {
    /// The location.
    package let path: TreePath
    /// The nodes, by paths below the location of which none contains another.
    package let values: [PathValue]
    private let hasValidNodes: Bool

    /// Replaces a node.
    ///
    /// - Parameter isValid: true if the node was made of an application's JSON for the location, so
    ///   that it need not be validated again.
    package init(_ path: TreePath, _ node: Node, isValid: Bool = false) {
        self.init(path, [PathValue(.root, node)], areValid: isValid)
    }

    /// Replaces several nodes.
    ///
    /// - Parameter areValid: as ``init(_:_:isValid:)`` has it, of all nodes.
    package init(_ path: TreePath, _ values: [PathValue], areValid: Bool = false) {
        self.path = path
        self.values = values
        hasValidNodes = areValid
    }

    /// The write with its deferred values computed.
    func resolved(at milliseconds: Int64, in tree: Node) -> TreeWrite {
        TreeWrite(
            path,
            values.map { value in
                let node = value.node.resolvingServerValues(at: milliseconds) {
                    tree.node(at: path.appending(value.path))
                }
                return PathValue(value.path, node)
            })
    }

    /// The tree with the write applied.
    func applied(to tree: Node) -> Node {
        guard values.count != 1 else {
            return tree.setting(path.appending(values[0].path), to: values[0].node)
        }
        return tree.setting(path, to: tree.node(at: path).setting(values))
    }

    // MARK: Validation

    /// Throws `invalidArgument` for a write that is refused whatever the rules say.
    func validate() throws(LarderError) {
        try values.checkDisjoint()
        for value in values {
            let path = path.appending(value.path)
            if TreePath.info.isAncestorOrEqual(of: path) {
                throw LarderError(realtime: .invalidArgument, "data under .info is read-only")
            }
            if !hasValidNodes { try value.node.validate(at: path) }
        }
    }
}
