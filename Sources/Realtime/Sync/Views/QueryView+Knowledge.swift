import LarderRealtimeModel

/// What a window proves of children that it does not have.
///
/// A query's window has every child between the query's bounds, up to its last child if the limit
/// is reached. A child that it lacks is absent if the window would have it in any case: in the
/// order of keys its place is known, in other orders only a window of the whole location tells.
extension QueryView {
    /// The last child of a window that others may follow.
    private var lastKnown: Child? {
        guard server.isComplete, server.isFiltered, !server.isExhaustive else { return nil }
        if let edge = server.edge { return edge }
        guard let limit = query.parameters.limit, server.node.childCount >= limit.count else {
            return nil
        }
        return filter.edge(of: server.node)
    }

    /// True if the server is known to have nothing at a child.
    ///
    /// Complexity: O(log n).
    func isKnownAbsent(_ key: ChildKey) -> Bool {
        guard server.isComplete, !server.node.hasChild(key) else { return false }
        if !server.isFiltered { return true }
        let parameters = query.parameters
        if parameters.index == .key { return isProven(IndexPosition(.null, key)) }
        return parameters.start == nil && parameters.end == nil && lastKnown == nil
    }

    /// A child with its pending writes; nil unless the server's content of it is known, or they
    /// replace it.
    func knownChild(_ key: ChildKey, _ writes: VisibleWrites) -> Node? {
        if let node = writes.completeChild(key, of: server) { return node }
        if let node = others[key] { return writes.applied(to: node) }
        return isKnownAbsent(key) ? writes.applied(to: .empty) : nil
    }

    /// The children whose content is complete, with the pending writes.
    func knownChildren(_ writes: VisibleWrites) -> Node {
        let known = writes.completeChildren(over: server.node)
        guard filter.selects, server.isComplete, case .partial(let tree) = writes else {
            return known
        }
        return known.settingChildren(
            tree.sortedChildren.compactMap { key, writes in
                guard key != .priority, writes.value == nil, !server.node.hasChild(key) else {
                    return nil
                }
                return knownChild(key, VisibleWrites(writes)).map { Child(key, $0) }
            })
    }

    /// True if the server's window has the child at a position, if there is one.
    private func isProven(_ position: IndexPosition) -> Bool {
        guard query.parameters.contains(position) else { return false }
        guard let lastKnown else { return true }
        let order = position.order(to: query.parameters.index.position(of: lastKnown))
        return filter.isFromEnd ? order >= 0 : order <= 0
    }

    /// True if the server's window lacks a child that it would have if the child were as it is shown.
    func isRefuted(_ key: ChildKey) -> Bool {
        guard server.isComplete, !server.isComplete(for: key) else { return false }
        return isProven(query.parameters.index.position(of: Child(key, shown.node.child(key))))
    }

    /// True if what is shown is all that the query selects, whatever the server has beyond the
    /// known window.
    func isComplete(with writes: VisibleWrites) -> Bool {
        guard shown.isComplete else { return false }
        guard filter.selects, writes.completeNode == nil else { return true }
        return uncertain.isEmpty && !isShort
            && !unconfirmed.contains { writes.child($0).completeNode == nil && isRefuted($0) }
    }

    /// True if children beyond the known window may belong to what is shown.
    private var isShort: Bool {
        guard let lastKnown, let limit = query.parameters.limit else { return false }
        guard shown.node.childCount >= limit.count, let last = filter.edge(of: shown.node) else {
            return true
        }
        return filter.isInside(lastKnown, last)
    }
}

// MARK: - Writes below unknown children

extension QueryView {
    /// Notes whether a child is written in part and uncertain, after a change of its writes or of
    /// the server's data.
    mutating func noteCertainty(of key: ChildKey, _ writes: VisibleWrites) {
        guard filter.selects, key != .priority else { return }
        if case .partial = writes, !server.isComplete(for: key) {
            writtenInPart.insert(key)
        } else {
            writtenInPart.remove(key)
        }
        if isUncertain(key, writes) { uncertain.insert(key) } else { uncertain.remove(key) }
    }

    /// Notes which children are written in part and uncertain.
    ///
    /// Complexity: that of the writes below the location.
    mutating func noteCertainty(_ writes: VisibleWrites) {
        guard filter.selects else { return }
        (writtenInPart, uncertain) = ([], [])
        certaintyEdge = lastKnown.map { query.parameters.index.position(of: $0) }
        guard case .partial(let tree) = writes else { return }
        for key in tree.keys { noteCertainty(of: key, writes.child(key)) }
    }

    /// Notes which children are uncertain, if the known window ends elsewhere now.
    ///
    /// Complexity: O(log n), or that of the children written in part.
    mutating func updateCertainty(_ writes: VisibleWrites) {
        guard filter.selects, !writtenInPart.isEmpty || !uncertain.isEmpty else { return }
        let edge = lastKnown.map { query.parameters.index.position(of: $0) }
        if edge == certaintyEdge { return }
        certaintyEdge = edge
        for key in writtenInPart { noteCertainty(of: key, writes.child(key)) }
    }

    /// True if the pending writes below a child of unknown content may bring it into what is shown.
    private func isUncertain(_ key: ChildKey, _ writes: VisibleWrites) -> Bool {
        guard case .partial(let tree) = writes, server.isComplete, knownChild(key, writes) == nil
        else { return false }
        let created = Child(key, writes.applied(to: .empty))
        let index = query.parameters.index
        if !created.node.isEmpty, isProven(index.position(of: created)) { return true }
        // If the child exists, it lies outside the window unless its place changes.
        switch index {
        case .key, .value: return false
        case .priority:
            guard let priority = tree.child(.priority)?.value else { return false }
            return isProven(IndexPosition(IndexValue(priority), key))
        case .child(let path):
            switch writes.descending(to: path) {
            case .none: return false
            case .complete(let node): return isProven(IndexPosition(IndexValue(node), key))
            case .partial: return true
            }
        }
    }

    /// Reads the uncertain children that the store has.
    ///
    /// A current window is newer than the store.
    mutating func readUncertain(
        from stored: StoredTree, _ writes: VisibleWrites, _ changes: inout ChildChanges
    ) {
        guard listen != .current, !uncertain.isEmpty else { return }
        for key in uncertain.sorted() {
            // Unreadable data stays unknown until the server has answered.
            let node = try? stored.completeNode(at: query.path.child(key))
            guard let node = node.flatMap({ $0 }) else { continue }
            others[key] = node
            uncertain.remove(key)
            show(
                writes.child(key).applied(to: node), as: key, changedAt: [.root],
                Context(writes: writes, known: nil, isCovered: false), &changes)
        }
    }
}
