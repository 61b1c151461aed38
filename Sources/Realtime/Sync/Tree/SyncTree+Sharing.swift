import LarderRealtimeModel

/// The cache of a store that several clients share, which one of them keeps.
extension SyncTree {
    /// This client keeps the cache from now on: it becomes what the views have from the server.
    ///
    /// - Parameter tracked: the queries of the cache, none of them active.
    package mutating func keepCache(_ tracked: TrackedQueries) {
        guard stored?.isKept == false else { return }
        stored?.keep(tracked)
        let views = points
        views.forEach { _, point in
            for view in point.views { stored?.activate(view.query, now: now) }
        }
        store(points, at: .root, isCovered: false)
    }

    /// Stores the result of another client's write in the cache that this client keeps.
    package mutating func storeForeign(_ write: AcceptedWrite) {
        store(write)
        stored?.record(.removeAccepted(write.id))
    }

    /// Stores the result of a write that the server has accepted, except where a view has the
    /// server's data, which may be newer; or passes it to the client that keeps the cache.
    mutating func store(_ write: AcceptedWrite) {
        guard let isKept = stored?.isKept else { return }
        guard isKept else {
            stored?.record(.passAccepted(write))
            return
        }
        for value in write.values {
            // Without a second reference, which would have the change below copy what is tracked.
            guard stored?.tracked.isLocationActive(value.path) == false else { continue }
            let known = serverNode(at: value.path)
            stored?.keep(
                PathValue(value.path, known ?? value.node), isExact: known != nil || write.isExact,
                now: now)
            if known == nil, let tree = points.subtree(at: value.path) {
                store(tree, at: value.path, isCovered: false)
            }
        }
    }

    /// Stores the data of views.
    ///
    /// - Parameter isCovered: true if the content of a view above was stored.
    private mutating func store(
        _ tree: PathTree<SyncPoint>, at path: TreePath, isCovered: Bool
    ) {
        var isCovered = isCovered
        if let point = tree.value {
            if let node = point.plainServerNode, !isCovered {
                stored?.serverChanged(path, [PathValue(.root, node)], isOverwrite: true)
                isCovered = true
            }
            if !isCovered { for view in point.views { store(view) } }
        }
        for (key, branch) in tree.sortedChildren {
            store(branch, at: path.appending(TreePath([key])), isCovered: isCovered)
        }
    }

    private mutating func store(_ view: QueryView) {
        let known = view.filter.selection(of: view.server.node)
        if view.server.isComplete, !view.query.loadsAllData {
            stored?.received(known, of: view.query)
        } else if !known.isLeaf {
            let values = known.children.map { PathValue(TreePath([$0.key]), $0.node) }
            if !values.isEmpty { stored?.record(.merge(view.query.path, values)) }
        }
    }
}
