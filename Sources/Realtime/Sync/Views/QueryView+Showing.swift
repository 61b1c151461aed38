import LarderRealtimeModel

/// How changes of the server's data and of pending writes become visible.
extension QueryView {
    /// Shows what became of a place that the server has written, unless a pending write hides it.
    ///
    /// A hidden change is visible nevertheless if it replaces a leaf above its place.
    mutating func showServerChange(
        at path: TreePath, _ context: Context, _ changes: inout ChildChanges
    ) {
        if context.writes.descending(to: path).completeNode != nil,
            !shown.node.hasLeaf(above: path)
        {
            return
        }
        guard let key = path.first else { return showAll(context, &changes) }
        if key == .priority {
            showPriority(context)
        } else {
            showServerChange(ofChild: key, at: [path.dropFirst()], context, &changes)
        }
    }

    /// Shows what became of places in a child that the server has written, or that a write no
    /// longer hides.
    mutating func showServerChange(
        ofChild key: ChildKey, at places: [TreePath], _ context: Context,
        _ changes: inout ChildChanges
    ) {
        if shown.node.isLeaf, server.isComplete { return showAll(context, &changes) }
        noteCertainty(of: key, context.writes.child(key))
        guard let child = childAfterServerChange(key, at: places, context.writes.child(key)) else {
            return forgetLayered(key, context)
        }
        let wasEmpty = shown.node.isEmpty
        show(child, as: key, changedAt: places, context, &changes)
        if wasEmpty, !shown.node.isEmpty { showPriority(context) }
    }

    private func childAfterServerChange(
        _ key: ChildKey, at places: [TreePath], _ writes: VisibleWrites
    ) -> Node? {
        guard shown.isComplete(for: key) else { return knownChild(key, writes) }
        if server.isFiltered, !server.isComplete(for: key) {
            // The child left the window: unless it is absent, what is written below it is part of
            // an unknown node.
            return knownChild(key, writes) ?? .empty
        }
        var child = shown.node.child(key)
        for place in places {
            let node = writes.descending(to: place)
                .applied(to: server.node.child(key).node(at: place))
            let changed = child.setting(place, to: node)
            let isLocal = child.hasBranches(along: place) && changed.hasBranches(along: place)
            if isLocal || !server.isComplete(for: key) {
                child = changed
            } else {
                return writes.applied(to: server.node.child(key))
            }
        }
        return child
    }

    /// Shows the location as a whole.
    mutating func showAll(_ context: Context, _ changes: inout ChildChanges) {
        layered = nil
        let content = content(context)
        shown.node = filter.replacingAll(withSelectionOf: content, &changes)
        shown.isComplete = server.isComplete || context.writes.completeNode != nil
        noteCertainty(context.writes)
    }

    /// The location's content with pending writes, as far as it is complete.
    private func content(_ context: Context) -> Node {
        if server.isWholeLocation { return context.writes.applied(to: server.node) }
        return context.writes.completeNode ?? knownChildren(context.writes)
    }

    /// Shows the location's priority.
    mutating func showPriority(_ context: Context) {
        let priority =
            context.writes.child(.priority).completeNode ?? server.node.child(.priority)
        shown.node = filter.replacingPriority(of: shown.node, with: priority)
    }

    /// Shows a child that differs at some places at most from what is shown.
    mutating func show(
        _ child: Node, as key: ChildKey, changedAt places: [TreePath], _ context: Context,
        _ changes: inout ChildChanges
    ) {
        if layered != nil {
            let isKnown = knownChild(key, context.writes.child(key)) != nil
            layered = layered?.settingChild(key, to: isKnown ? child : .empty)
        }
        let old = shown.node.child(key)
        let isSame =
            old.isEmpty == child.isEmpty
            && places.allSatisfy { old.node(at: $0) == child.node(at: $0) }
        if isSame { return }
        shown.node = filter.replacing(
            key, in: shown.node, with: child,
            next: { self.layeredChild(after: $0, context) }, &changes)
    }

    /// Forgets what a full window might have been refilled with, if it is no longer known.
    mutating func forgetLayered(_ key: ChildKey, _ context: Context) {
        if knownChild(key, context.writes.child(key)) == nil {
            layered = layered?.settingChild(key, to: .empty)
        }
    }

    private mutating func layeredChild(after child: Child, _ context: Context) -> Child? {
        let content = layered ?? content(context)
        layered = content
        let index = query.parameters.index
        let position = index.position(of: child)
        let children = content.children(by: index)
        return filter.isFromEnd
            ? children.last(before: position) : children.first(after: position)
    }
}

// MARK: - Stored windows

extension QueryView {
    /// How many more children of the store the view needs than it has, beyond the limit of the
    /// query; nil if what is shown is all that the store makes of it.
    ///
    /// Pending writes may have removed children from the stored window, or moved them beyond it.
    var spareNeeded: Int? {
        guard let edge = server.edge, let limit = query.parameters.limit else { return nil }
        let isFull = shown.node.childCount >= limit.count
        if isFull, let last = filter.edge(of: shown.node), !filter.isInside(edge, last) {
            return nil
        }
        return max(limit.count, 2 * (server.node.childCount - limit.count))
    }

    /// Takes a larger part of the stored location.
    mutating func extend(
        to stored: CachedNode, _ writes: VisibleWrites, _ changes: inout ChildChanges
    ) {
        server = stored
        showAll(Context(writes: writes, known: nil, isCovered: false), &changes)
    }
}

extension Node {
    /// True if a node above the end of a path is a leaf.
    fileprivate func hasLeaf(above path: TreePath) -> Bool {
        var node = self
        for key in path {
            if node.isLeaf { return true }
            node = node.child(key)
        }
        return false
    }

    /// True if every node above the end of a path has children.
    fileprivate func hasBranches(along path: TreePath) -> Bool {
        var node = self
        for key in path {
            if node.childCount == 0 { return false }
            node = node.child(key)
        }
        return true
    }
}
