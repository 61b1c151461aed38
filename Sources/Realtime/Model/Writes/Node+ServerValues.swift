extension Node {
    /// The node with its deferred values computed.
    ///
    /// - Parameters:
    ///   - milliseconds: the time of the write, since the Unix epoch.
    ///   - existing: what is at the node's place before the write; called at most once, and only
    ///     if the node increments anything.
    ///
    /// Complexity: that of the parts with deferred values.
    package func resolvingServerValues(
        at milliseconds: Int64, existing: () -> Node
    ) -> Node {
        guard hasDeferredValues else { return self }
        var known: Node?
        return resolve(at: milliseconds) { path in
            let node = known ?? existing()
            known = node
            return node.node(at: path)
        }
    }

    private func resolve(
        at milliseconds: Int64, path: TreePath = .root, existing: (TreePath) -> Node
    ) -> Node {
        guard hasDeferredValues else { return self }
        var result = self
        if case .deferred(let value)? = leafValue {
            let resolved = value.resolved(at: milliseconds) { existing(path).leafValue }
            result = Node(.number(resolved), priority: priority)
        }
        for child in children where child.node.hasDeferredValues {
            let path = path.child(child.key)
            result = result.settingChild(
                child.key, to: child.node.resolve(at: milliseconds, path: path, existing: existing))
        }
        if case .deferred(let value) = priority {
            let resolved = value.resolved(at: milliseconds) { existing(path).priority.leaf }
            result = result.settingPriority(.number(resolved))
        }
        return result
    }
}

extension ServerValue {
    /// The value, computed.
    ///
    /// - Parameter existing: what is at the value's place before the write; called for increments
    ///   only.
    package func resolved(at milliseconds: Int64, existing: () -> LeafValue?) -> LeafNumber {
        switch self {
        case .timestamp: LeafNumber(milliseconds)
        case .increment(let delta):
            if case .number(let number)? = existing() { number.adding(delta) } else { delta }
        }
    }
}
