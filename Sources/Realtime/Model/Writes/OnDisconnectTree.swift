/// The writes that the server will make when the connection ends, as far as acknowledged.
///
/// When the connection is lost, the client applies the same to its own data at once, instead of
/// waiting for the server to say so on the next connection.
package struct OnDisconnectTree: Sendable {
    private var values = PathTree<Node>()

    package init() {}

    /// True if nothing will be written.
    package var isEmpty: Bool { values.isEmpty }

    /// The server will replace a node.
    package mutating func remember(_ path: TreePath, _ node: Node) {
        values.fold(node, at: path)
    }

    /// The server will replace several nodes below a location.
    package mutating func remember(_ path: TreePath, _ nodes: [PathValue]) {
        for value in nodes { remember(path.appending(value.path), value.node) }
    }

    /// The server will not write at a location and below it, but what it writes above stays.
    package mutating func forget(_ path: TreePath) {
        values.unfold(at: path)
    }

    /// Discards the operations at and below a location, which another write of the server supersedes.
    package mutating func replace(at path: TreePath) {
        values.removeSubtree(at: path)
    }

    /// Calls a closure with each path and the node that the server will write there, in no order.
    package func forEach(_ body: (TreePath, Node) -> Void) { values.forEach(body) }

    /// What the server will write, in the order of the paths.
    package var writes: [PathValue] {
        var writes: [PathValue] = []
        values.forEach { writes.append(PathValue($0, $1)) }
        return writes.sorted { $0.path < $1.path }
    }

    /// The connection has ended: takes what the server has written then, in the order of the
    /// paths.
    ///
    /// - Parameters:
    ///   - time: the server's estimated time, in milliseconds since the Unix epoch.
    ///   - existing: the content of a location, for increments.
    package mutating func take(
        at time: Int64, existing: (TreePath) -> Node
    ) -> [PathValue] {
        let taken = writes.map { write in
            PathValue(
                write.path,
                write.node.resolvingServerValues(at: time) { existing(write.path) })
        }
        values = PathTree()
        return taken
    }
}
