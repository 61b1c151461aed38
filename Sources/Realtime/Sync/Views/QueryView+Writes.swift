import LarderRealtimeModel

/// Writes of the user, which are among the pending ones already, and their ends.
extension QueryView {
    mutating func overwriteLocally(
        _ path: TreePath, _ node: Node, _ context: Context, _ changes: inout ChildChanges
    ) {
        if path.isEmpty {
            layered = nil
            shown.node = filter.replacingAll(withSelectionOf: node, &changes)
            shown.isComplete = true
            noteCertainty(context.writes)
        } else {
            mergeLocally(PathTree(node, at: path), context, &changes)
        }
    }

    /// Shows the nodes of a write, child by child, first the children that are shown already,
    /// which keeps a full window from dropping them.
    mutating func mergeLocally(
        _ values: PathTree<Node>, _ context: Context, _ changes: inout ChildChanges
    ) {
        let children = values.sortedChildren
        let wasShown = children.map { shown.isComplete(for: $0.key) }
        for isShown in [true, false] {
            for (child, wasShown) in zip(children, wasShown) where wasShown == isShown {
                mergeLocally(child.key, child.tree, context, &changes)
            }
        }
    }

    private mutating func mergeLocally(
        _ key: ChildKey, _ values: PathTree<Node>, _ context: Context,
        _ changes: inout ChildChanges
    ) {
        if key == .priority {
            shown.node = filter.replacingPriority(of: shown.node, with: values.value ?? .empty)
            return
        }
        if let node = values.value {
            noteCertainty(of: key, context.writes.child(key))
            return show(node, as: key, changedAt: [.root], context, &changes)
        }
        let known =
            shown.isComplete(for: key) ? shown.node.child(key) : latestChild(key, context)
        noteCertainty(of: key, context.writes.child(key))
        // Of a child that is not known, a change below it shows nothing.
        guard let known else { return }
        let child = VisibleWrites(values).applied(to: known)
        show(child, as: key, changedAt: values.paths, context, &changes)
    }

    private func latestChild(_ key: ChildKey, _ context: Context) -> Node? {
        let writes = context.writes.child(key)
        return context.known.map { writes.applied(to: $0.child(key)) } ?? knownChild(key, writes)
    }

    /// Shows the server's data at the places of a write that was acknowledged and removed.
    ///
    /// Where the server has sent nothing yet, what was written stays. A current window has been sent:
    /// what it lacks was removed, or pushed out, by a later write. If a pending write of this client
    /// has made room for a child beyond the window, the server's window will have room for it, too; so
    /// the child stays until no write is pending, and the view is incomplete until then.
    mutating func acknowledge(
        _ affected: PathTree<Bool>, _ context: Context, _ changes: inout ChildChanges
    ) {
        if affected.value == nil || !server.isComplete {
            let written =
                affected.value == nil
                ? affected.sortedChildren
                : server.node.children.map { (key: $0.key, tree: PathTree(true)) }
            for isKnown in [true, false] {
                for (key, places) in written where server.node.hasChild(key) == isKnown {
                    noteCertainty(of: key, context.writes.child(key))
                    if server.isComplete(for: key) {
                        showServerChange(ofPlaces: places, in: key, context, &changes)
                    } else if listen == .current {
                        unconfirmed.insert(key)
                    } else {
                        forgetLayered(key, context)
                    }
                }
            }
            restoreLeaf(context, &changes)
        } else {
            showServerChange(at: .root, context, &changes)
        }
    }

    /// Shows the server's window at the children of acknowledged writes: at those that it would have,
    /// if they were as they are shown, and at all once no write is pending.
    ///
    /// A child with pending writes of its own stays nevertheless, unless it is known to be absent.
    mutating func settleUnconfirmed(_ context: Context, _ changes: inout ChildChanges) {
        if unconfirmed.isEmpty { return }
        // Elsewhere the window is complete already; it is refilled when the server's is known again.
        guard listen == .current else {
            if context.writes.isEmpty { unconfirmed = [] }
            return
        }
        for key in unconfirmed.sorted() {
            if server.isComplete(for: key) {
                unconfirmed.remove(key)
            } else if context.writes.isEmpty || isKnownAbsent(key)
                || context.writes.child(key).isEmpty && isRefuted(key)
            {
                unconfirmed.remove(key)
                showServerChange(ofPlaces: PathTree(true), in: key, context, &changes)
            }
        }
    }

    /// Shows what is left at the places of a write that was refused or cancelled, and removed.
    mutating func revert(
        _ affected: PathTree<Bool>, _ context: Context, _ changes: inout ChildChanges
    ) {
        if affected.value != nil {
            unconfirmed = []
            return showAll(context, &changes)
        }
        for (key, places) in affected.sortedChildren {
            let writes = context.writes.child(key)
            if key == .priority {
                showPriority(context)
            } else if server.isComplete(for: key), writes.completeNode == nil {
                showServerChange(ofPlaces: places, in: key, context, &changes)
            } else {
                // Without the write, the child may be unknown again.
                noteCertainty(of: key, writes)
                show(
                    knownChild(key, writes) ?? .empty, as: key, changedAt: places.paths, context,
                    &changes)
            }
        }
        restoreLeaf(context, &changes)
    }

    private mutating func showServerChange(
        ofPlaces places: PathTree<Bool>, in key: ChildKey, _ context: Context,
        _ changes: inout ChildChanges
    ) {
        if key == .priority {
            showServerChange(at: TreePath([key]), context, &changes)
        } else {
            showServerChange(ofChild: key, at: places.paths, context, &changes)
        }
    }

    /// Shows a leaf of the server again that written children had replaced.
    private mutating func restoreLeaf(_ context: Context, _ changes: inout ChildChanges) {
        if shown.node.isEmpty, server.isComplete, server.node.isLeaf { showAll(context, &changes) }
    }
}
