package import LarderRealtimeModel
import LarderRealtimeStore

extension SyncTree {
    /// Adds a listener of a query.
    ///
    /// - Returns: the listener's first events: the children that are known, and the value if
    ///   all data is known.
    /// - Throws: an error of the cache; nothing has changed then.
    package mutating func listen(
        to query: QuerySpec, _ listener: Listener
    ) throws(LarderError) -> [TreeEvent] {
        try open(query)
        update(query) { $0.add(listener) }
        guard let view = view(of: query) else { return [] }
        let metadata = metadata(of: view)
        if view.shown.isComplete { update(query) { $0.noteValue(metadata, of: listener) } }
        return view.initialEvents(for: listener, metadata)
    }

    /// Keeps a query's data at hand without a listener; a second time does nothing.
    ///
    /// - Throws: an error of the cache; nothing has changed then.
    package mutating func hold(
        _ query: QuerySpec, for holder: QueryHolder
    ) throws(LarderError) {
        try open(query)
        update(query) { $0.add(holder) }
    }

    /// Removes a listener; through a plain location, from whichever of its queries has it.
    package mutating func stopListening(to query: QuerySpec, _ listener: ListenerID) {
        remove(from: query) { $0.remove(listener) }
    }

    /// Removes all listeners of a query; through a plain location, those of all its queries.
    package mutating func stopListening(to query: QuerySpec) {
        remove(from: query) { $0.removeAllListeners() }
    }

    /// Ends what ``hold(_:for:)`` began.
    package mutating func release(_ query: QuerySpec, for holder: QueryHolder) {
        guard view(of: query) != nil else { return }
        update(query) { $0.remove(holder) }
        closeUnused(at: query.path)
    }

    /// Ends a listen that the server has refused or revoked: all listeners and holders of the
    /// query are removed, and those of all queries at the location if the query loads all data.
    ///
    /// - Returns: the event that ends each listener.
    package mutating func cancel(_ query: QuerySpec, _ error: LarderError) -> [TreeEvent] {
        guard let point = points[query.path] else { return [] }
        let ended = point.views.filter {
            query.loadsAllData || $0.query.parameters == query.parameters
        }
        close(ended, tellsServer: false)
        return ended.flatMap { $0.cancellations(error, metadata(of: $0)) }
    }

    private mutating func remove(from query: QuerySpec, _ change: (inout QueryView) -> Void) {
        guard points[query.path] != nil else { return }
        points.update(at: query.path) { tree in
            tree.updateValue { point in
                if query.isDefault {
                    point?.updateViews(change)
                } else {
                    point?.update(query.parameters, change)
                }
            }
        }
        closeUnused(at: query.path)
    }

    private mutating func closeUnused(at path: TreePath) {
        close(points[path]?.views.filter(\.isUnused) ?? [], tellsServer: true)
    }

    mutating func update(_ query: QuerySpec, _ change: (inout QueryView) -> Void) {
        points.update(at: query.path) { tree in
            tree.updateValue { $0?.update(query.parameters, change) }
        }
    }

    func metadata(of view: QueryView) -> TreeEventMetadata {
        let writes = writes.visibleWrites.descending(to: view.query.path)
        return TreeEventMetadata(
            isComplete: view.isComplete(with: writes), hasPendingWrites: !writes.isEmpty,
            isFromCache: !isConfirmed(view.query))
    }
}

// MARK: - Opening

extension SyncTree {
    /// Makes the view of a query, if there is none, and asks the server for its data unless a view
    /// above or at the location covers it.
    private mutating func open(_ query: QuerySpec) throws(LarderError) {
        if view(of: query) == nil {
            let server = try initialServerNode(of: query)
            let isCovered =
                isCovered(query.path) || points[query.path]?.hasPlainView == true
            let (number, tag) = identify(query)
            let visible = writes.visibleWrites.descending(to: query.path)
            var view = QueryView(query, number: number, tag: tag, server: server, writes: visible)
            var unused = ChildChanges()
            view.extend(from: stored, visible, &unused)
            points.update(at: query.path) { tree in
                tree.updateValue { point in
                    if point == nil { point = SyncPoint() }
                    point?[query.parameters] = view
                }
            }
            if !isCovered { startListen(query) }
        }
        stored?.activate(query, now: now)
    }

    /// The known part of the server's data for a new view, from other views or the store.
    private func initialServerNode(of query: QuerySpec) throws(LarderError) -> CachedNode {
        if let node = serverNode(at: query.path) { return CachedNode(node, isComplete: true) }
        var known = try stored?.serverNode(for: query) ?? .unknown
        if !known.isComplete, let tree = points.subtree(at: query.path) {
            for key in tree.keys {
                if let node = tree.child(key)?.value?.serverNode(at: .root) {
                    known.node = known.node.settingChild(key, to: node)
                }
            }
        }
        return known
    }

    private mutating func startListen(_ query: QuerySpec) {
        guard query.loadsAllData else {
            listenEffects.append(.listen(query, tag: view(of: query)?.tag))
            return update(query) { $0.listen = .requested }
        }
        listenEffects.append(.listen(query.normalized, tag: nil))
        points.update(at: query.path) { tree in
            tree.updateValue { $0?.plainListen = .requested }
        }
        for ended in stopListens(coveredBy: query.path) { listenEffects.append(ended) }
    }

    /// Ends the listens that a plain one at a location makes superfluous.
    private mutating func stopListens(coveredBy path: TreePath) -> [ListenEffect] {
        var ended: [ListenEffect] = []
        func stop(in tree: inout PathTree<SyncPoint>, isTop: Bool) {
            let hasPlainListen = tree.value?.plainListen ?? .none != .none
            tree.updateValue { point in
                if !isTop, hasPlainListen, let query = point?.views.first?.query {
                    ended.append(.unlisten(QuerySpec(query.path), tag: nil))
                    point?.plainListen = .none
                }
                point?.updateViews { view in
                    guard view.listen != .none else { return }
                    ended.append(.unlisten(view.query, tag: view.tag))
                    view.listen = .none
                }
            }
            // Nothing below a plain listen has one of its own.
            if !isTop, hasPlainListen { return }
            for key in tree.keys.sorted() { tree.updateChild(key) { stop(in: &$0, isTop: false) } }
        }
        points.update(at: path) { stop(in: &$0, isTop: true) }
        return ended
    }
}

// MARK: - Closing

extension SyncTree {
    /// Removes views, all of one location, and ends their listens; what they covered is asked for
    /// before that.
    private mutating func close(_ views: [QueryView], tellsServer: Bool) {
        guard let path = views.first?.query.path, let before = points[path] else { return }
        points.update(at: path) { tree in
            tree.updateValue { point in
                for view in views { point?[view.query.parameters] = nil }
                if point?.isEmpty == true { point = nil }
            }
        }
        let uncovers =
            before.plainListen != .none && points[path]?.hasPlainView != true
        if uncovers {
            points.update(at: path) { tree in tree.updateValue { $0?.plainListen = .none } }
            for query in uncoveredQueries(at: path) { startListen(query) }
            if tellsServer { listenEffects.append(.unlisten(QuerySpec(path), tag: nil)) }
        }
        for view in views {
            if let tag = view.tag { tags[tag] = nil }
            if tellsServer, view.listen != .none {
                listenEffects.append(.unlisten(view.query, tag: view.tag))
            }
            if points[path]?.uses(view.query.parameters) != true {
                stored?.deactivate(view.query, now: now)
            }
        }
    }

    /// The queries at and below a location that need a listen of their own once none covers them:
    /// the nearest plain one on each branch, and the filtered ones on the way there.
    private func uncoveredQueries(at path: TreePath) -> [QuerySpec] {
        var found: [QuerySpec] = []
        func collect(_ tree: PathTree<SyncPoint>) {
            if let point = tree.value {
                if point.hasPlainView, let query = point.views.first?.query {
                    found.append(query)
                    return
                }
                found += point.filteredViews.map(\.query)
            }
            for (_, branch) in tree.sortedChildren { collect(branch) }
        }
        if let tree = points.subtree(at: path) { collect(tree) }
        return found
    }
}
