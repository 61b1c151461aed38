package import LarderRealtimeModel

/// The client's own state below `/.info`, which no server sends.
///
/// A listener of a location with a value has it at once; one of a location without a value waits
/// for it.
package struct InfoTree {
    private var tree = SyncTree()
    private var content = Node.empty

    package init() {}

    /// The key of the tree in the database.
    package static let key = ChildKey(".info")

    /// True if a location belongs to the tree.
    package static func contains(_ path: TreePath) -> Bool { path.first == key }

    /// Adds a listener of a query below `/.info`.
    ///
    /// - Throws: nothing in fact; the signature is that of ``SyncTree/listen(to:_:)``.
    package mutating func listen(
        to query: QuerySpec, _ listener: Listener
    ) throws(LarderError) -> [TreeEvent] {
        let first = try tree.listen(to: query, listener)
        return first + answerListens()
    }

    /// Removes a listener.
    package mutating func stopListening(to query: QuerySpec, _ listener: ListenerID) {
        tree.stopListening(to: query, listener)
        _ = answerListens()
    }

    /// Removes all listeners of a query.
    package mutating func stopListening(to query: QuerySpec) {
        tree.stopListening(to: query)
        _ = answerListens()
    }

    /// Replaces the value at a path below `/.info`.
    package mutating func set(_ path: TreePath, to node: Node) -> [TreeEvent] {
        let path = TreePath([Self.key]).appending(path)
        content = content.setting(path, to: node)
        return tree.serverOverwrite(path, node)
    }

    /// The value of a query below `/.info`; nil if there is none.
    package func value(of query: QuerySpec) -> Node? {
        let node = content.node(at: query.path)
        return node.isEmpty ? nil : query.parameters.filtered(node)
    }

    private mutating func answerListens() -> [TreeEvent] {
        tree.takeListenEffects().flatMap { effect -> [TreeEvent] in
            guard case .listen(let query, let tag) = effect else { return [] }
            let node = content.node(at: query.path)
            if node.isEmpty { return [] }
            tree.listenReceives(query.path, tag: tag)
            return tree.serverOverwrite(query.path, node, tag: tag)
                + tree.listenCompleted(query.path, tag: tag)
        }
    }
}
