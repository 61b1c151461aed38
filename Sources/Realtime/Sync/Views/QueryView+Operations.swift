import LarderRealtimeModel

extension QueryView {
    /// Applies an operation, at paths relative to the view's location.
    ///
    /// - Returns: the changes of the children that listeners see.
    mutating func apply(_ operation: TreeOperation, _ context: Context) -> ChildChanges {
        var changes = ChildChanges()
        if context.isCovered { adopt(context, &changes) }
        switch operation.kind {
        case .overwrite(let node):
            if operation.source == .user {
                overwriteLocally(operation.path, node, context, &changes)
            } else {
                let filters =
                    isWindow(operation.source) || server.isFiltered && !operation.path.isEmpty
                overwriteServer(operation.path, node, filters: filters, context, &changes)
            }
        case .merge(let values):
            let values = values.moved(to: operation.path)
            if operation.source == .user {
                mergeLocally(values, context, &changes)
            } else {
                let filters = isWindow(operation.source) || server.isFiltered
                mergeServer(values, filters: filters, context, &changes)
            }
        case .acknowledgement(let affected):
            acknowledge(affected.moved(to: operation.path), context, &changes)
        case .reversal(let affected):
            revert(affected.moved(to: operation.path), context, &changes)
        case .completion:
            completeServer(operation, context, &changes)
        }
        settleUnconfirmed(context, &changes)
        updateCertainty(context.writes)
        return changes
    }

    /// True if only the query's window stays known after an operation: the server sends changes of
    /// nothing else.
    private func isWindow(_ source: TreeOperation.Source) -> Bool {
        source == .tagged || listen == .current
    }

    /// Takes over the content of a location that another view has in full.
    private mutating func adopt(_ context: Context, _ changes: inout ChildChanges) {
        guard let known = context.known else { return }
        let isNew = !server.isWholeLocation
        server = CachedNode(known, isComplete: true)
        if isNew {
            layered = nil
            showServerChange(at: .root, context, &changes)
        }
    }
}

// MARK: - What the server says

extension QueryView {
    private mutating func overwriteServer(
        _ path: TreePath, _ node: Node, filters: Bool, _ context: Context,
        _ changes: inout ChildChanges
    ) {
        if !context.isCovered {
            guard overwriteServerCache(path, node, filters: filters && filter.selects) else {
                return
            }
        }
        showServerChange(at: path, context, &changes)
    }

    /// - Returns: false if the overwrite does not concern the view.
    private mutating func overwriteServerCache(
        _ path: TreePath, _ node: Node, filters: Bool
    ) -> Bool {
        guard let key = path.first else {
            let node = filters ? filter.selection(of: node) : node
            server = CachedNode(node, isComplete: true, isFiltered: filters)
            others = [:]
            if filters { keyChanges.replace() }
            return true
        }
        if filters { narrowToWindow() }
        // A change below a child that is not known is meant for other views.
        guard path.count == 1 || server.isComplete(for: key) else { return false }
        setServerChild(key, to: server.node.child(key).setting(path.dropFirst(), to: node), filters)
        return true
    }

    private mutating func setServerChild(_ key: ChildKey, to node: Node, _ filters: Bool) {
        others[key] = nil
        if key == .priority {
            if !filters { server.node = server.node.settingChild(key, to: node) }
        } else if filters, let edge = server.edge {
            let child = Child(key, node)
            let isStored = filter.matches(child) && !filter.isInside(edge, child)
            server.node = server.node.settingChild(key, to: isStored ? node : .empty)
        } else if filters {
            var changes = ChildChanges()
            server.node = filter.replacing(
                key, in: server.node, with: node, next: { _ in nil }, &changes)
            keyChanges.note(changes)
        } else {
            server.node = server.node.settingChild(key, to: node)
        }
        server.isFiltered = filters
    }

    /// Applies the server's values for several places, first those of children that are known
    /// already, which keeps a full window from dropping them.
    ///
    /// Nothing is shown before all of them are applied: on the way, a full window may seem to have
    /// room.
    private mutating func mergeServer(
        _ values: PathTree<Node>, filters: Bool, _ context: Context, _ changes: inout ChildChanges
    ) {
        // Without any data yet this is meant for an earlier listen of the same query.
        if server.node.isEmpty, !server.isComplete { return }
        if let node = values.value {
            return overwriteServer(.root, node, filters: filters, context, &changes)
        }
        if filters, filter.selects, !context.isCovered { narrowToWindow() }
        let before = server
        let all = values.sortedChildren
        let children =
            all.filter { !before.node.child($0.key).isEmpty }
            + all.filter { key, values in
                before.node.child(key).isEmpty
                    && (values.value != nil || before.isComplete(for: key))
            }
        if !context.isCovered {
            for (key, values) in children {
                let child = VisibleWrites(values).applied(to: server.node.child(key))
                setServerChild(key, to: child, filters && filter.selects)
            }
        }
        for (key, values) in children {
            if key == .priority {
                showServerChange(at: TreePath([.priority]), context, &changes)
            } else {
                showServerChange(ofChild: key, at: values.paths, context, &changes)
            }
        }
    }

    private mutating func completeServer(
        _ operation: TreeOperation, _ context: Context, _ changes: inout ChildChanges
    ) {
        if operation.path.isEmpty {
            if operation.source == .tagged {
                // The server's hash of a window is that of the window alone.
                setWindow()
                server.edge = nil
            }
            server.isComplete = true
        }
        showServerChange(at: operation.path, context, &changes)
    }

    /// Keeps the window of a location that was known as a whole: what the server sends are changes
    /// of the window.
    private mutating func narrowToWindow() {
        if !server.isFiltered { setWindow() }
    }

    private mutating func setWindow() {
        server.node = filter.selection(of: server.node)
        server.isFiltered = true
        server.isExhaustive = false
        others = [:]
        layered = nil
        keyChanges.replace()
    }
}
