package import LarderRealtimeModel

extension SyncTree {
    /// The data that a listen is about: that of the query's view, as the server knows it.
    func listenedNode(of query: QuerySpec) -> Node? {
        guard let point = points[query.path] else { return nil }
        if query.loadsAllData { return point.views.first { $0.query.loadsAllData }?.server.node }
        return point[query.parameters].map { $0.filter.selection(of: $0.server.node) }
    }

    /// The hashes that tell the server what is known of a listen's data.
    ///
    /// - Returns: the hash of the data, and those of its ranges if it is large.
    package func hashes(of query: QuerySpec) -> (hash: String, compound: CompoundHash?) {
        let node = listenedNode(of: query) ?? .empty
        let isLarge = node.estimatedSize > CompoundHash.minimumSize
        return (node.hash, isLarge ? CompoundHash(node) : nil)
    }

    /// The data of a query with pending writes, if all of it is known without the server: from
    /// listeners, or from a pending write.
    package func value(of query: QuerySpec) -> Node? { knownValue(of: query)?.node }

    /// The data of a query with pending writes, as listeners have it; incomplete if pending writes
    /// of a window may show children of which the server's content is unknown.
    package func knownValue(of query: QuerySpec) -> (node: Node, isComplete: Bool)? {
        let writes = writes.visibleWrites.descending(to: query.path)
        if let view = view(of: query), view.shown.isComplete {
            return (view.shown.node, view.isComplete(with: writes))
        }
        return writes.completeNode(over: serverNode(at: query.path)).map {
            (ViewFilter(parameters: query.parameters).selection(of: $0), true)
        }
    }

    /// The stored data of a query with pending writes.
    ///
    /// - Returns: nil without any data; incomplete if only some children are known.
    /// - Throws: an error of the cache.
    package func storedValue(
        of query: QuerySpec
    ) throws(LarderError) -> (node: Node, isComplete: Bool)? {
        guard let known = try stored?.serverNode(for: query) else { return nil }
        let writes = writes.visibleWrites.descending(to: query.path)
        var view = QueryView(query, number: 0, tag: nil, server: known, writes: writes)
        var unused = ChildChanges()
        view.extend(from: stored, writes, &unused)
        if view.shown.node.isEmpty, !view.shown.isComplete { return nil }
        return (view.shown.node, view.isComplete(with: writes))
    }

    /// A get asks the server for a query's data, which is not evicted until it ends.
    package mutating func getBegan(_ query: QuerySpec) {
        stored?.activate(query, now: now)
    }

    /// A get has ended.
    package mutating func getEnded(_ query: QuerySpec) {
        let isUsed = points[query.path]?.uses(query.parameters) == true
        if !isUsed { stored?.deactivate(query, now: now) }
    }

    /// The server has answered a get of a query.
    ///
    /// - Returns: the query's data with pending writes, whether it is complete with them, and the
    ///   events of listeners that the answer is news for.
    package mutating func receive(
        _ node: Node, of query: QuerySpec
    ) -> (node: Node, isComplete: Bool, events: [TreeEvent]) {
        var events: [TreeEvent] = []
        let tag = view(of: query)?.tag
        if query.loadsAllData {
            events = serverOverwrite(query.path, node)
        } else if let tag {
            events = serverOverwrite(query.path, node, tag: tag)
        } else {
            stored?.received(
                ViewFilter(parameters: query.parameters).selection(of: node), of: query)
        }
        // A view that does not have the answer may have older data.
        let writes = writes.visibleWrites.descending(to: query.path)
        if query.loadsAllData || tag != nil, let view = view(of: query), view.shown.isComplete {
            return (view.shown.node, view.isComplete(with: writes), events)
        }
        let view = QueryView(
            query, number: 0, tag: nil,
            server: CachedNode(node, isComplete: true, isFiltered: !query.loadsAllData),
            writes: writes)
        return (view.shown.node, view.isComplete(with: writes), events)
    }

    /// The data of a query was evicted from the cache.
    package mutating func evicted(_ query: QuerySpec) {
        stored?.evicted(query)
    }
}
