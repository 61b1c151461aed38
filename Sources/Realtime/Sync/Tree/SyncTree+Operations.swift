package import LarderRealtimeModel

// MARK: - What the server says

extension SyncTree {
    /// The server has replaced a node; with a tag, as far as it belongs to that query.
    package mutating func serverOverwrite(
        _ path: TreePath, _ node: Node, tag: Int? = nil
    ) -> [TreeEvent] {
        if let tag {
            return taggedChange(at: path, .overwrite(node), [PathValue(.root, node)], tag)
        }
        stored?.serverChanged(path, [PathValue(.root, node)], isOverwrite: true)
        return apply(TreeOperation(.server, at: path, .overwrite(node)))
    }

    /// Shows what is stored already as the server's data.
    ///
    /// - Parameter values: the nodes by paths from the root, of which none contains another.
    mutating func showServerChange(_ values: [PathValue]) -> [TreeEvent] {
        if values.count == 1 {
            return apply(TreeOperation(.server, at: values[0].path, .overwrite(values[0].node)))
        }
        return apply(TreeOperation(.server, at: .root, .merge(PathTree(values))))
    }

    /// The server has replaced several nodes below a location.
    package mutating func serverMerge(
        _ path: TreePath, _ values: [PathValue], tag: Int? = nil
    ) -> [TreeEvent] {
        if values.isEmpty { return [] }
        let merge = TreeOperation.Kind.merge(PathTree(values))
        if let tag { return taggedChange(at: path, merge, values, tag) }
        stored?.serverChanged(path, values, isOverwrite: false)
        return apply(TreeOperation(.server, at: path, merge))
    }

    /// The server has sent the content of those ranges of a listen's data that its hashes showed
    /// to differ.
    package mutating func serverRangeMerge(
        _ path: TreePath, _ merges: [RangeMerge], tag: Int? = nil
    ) -> [TreeEvent] {
        guard let query = tag.map({ tags[$0] }) ?? QuerySpec(path), query.path == path,
            let node = listenedNode(of: query)
        else { return [] }
        return serverOverwrite(path, merges.reduce(node) { $1.applied(to: $0) }, tag: tag)
    }

    /// The server is about to replace all data of a listen that it has not answered: what listeners
    /// receive of it is the server's.
    package mutating func listenReceives(_ path: TreePath, tag: Int? = nil) {
        if let tag {
            guard let query = tags[tag], query.path == path else { return }
            return update(query) { if $0.listen == .requested { $0.listen = .received } }
        }
        guard points[path]?.plainListen == .requested else { return }
        points.update(at: path) { tree in tree.updateValue { $0?.plainListen = .received } }
    }

    /// The server has answered a listen: it has sent all that differs from what it was told.
    package mutating func listenCompleted(_ path: TreePath, tag: Int? = nil) -> [TreeEvent] {
        if let tag {
            guard let query = tags[tag] else { return [] }
            update(query) { if $0.listen != .none { $0.listen = .current } }
            return apply(TreeOperation(.tagged, at: .root, .completion), to: query)
        }
        points.update(at: path) { tree in
            tree.updateValue { point in
                if let listen = point?.plainListen, listen != .none {
                    point?.plainListen = .current
                }
            }
        }
        stored?.completeLocation(path)
        return apply(TreeOperation(.server, at: path, .completion))
    }

    /// The connection was lost: no data is kept up to date until its listen is answered again.
    package mutating func connectionLost() {
        func lose(_ tree: inout PathTree<SyncPoint>) {
            tree.updateValue { point in
                if point?.plainListen.isConfirmed == true { point?.plainListen = .requested }
                point?.updateViews { if $0.listen.isConfirmed { $0.listen = .requested } }
            }
            for key in Array(tree.keys) { tree.updateChild(key) { lose(&$0) } }
        }
        lose(&points)
    }

    private mutating func taggedChange(
        at path: TreePath, _ kind: TreeOperation.Kind, _ values: [PathValue], _ tag: Int
    ) -> [TreeEvent] {
        // Messages for a query that was closed in the meantime are ignored.
        guard let query = tags[tag], let rest = path.relative(to: query.path),
            let before = view(of: query)?.server.node
        else { return [] }
        let events = apply(TreeOperation(.tagged, at: rest, kind), to: query)
        if stored != nil, let after = view(of: query)?.server.node {
            var left: Set<ChildKey> = []
            Node.forEachChangedChild(from: before, to: after) { key, _, new in
                if new.isEmpty { left.insert(key) }
            }
            let values = values.flatMap { value in
                rest.isEmpty && value.path.isEmpty
                    ? value.node.children.map { PathValue(TreePath([$0.key]), $0.node) }
                    : [PathValue(rest.appending(value.path), value.node)]
            }
            stored?.windowChanged(of: query, values, left: left)
        }
        return events
    }
}

// MARK: - Applying

extension SyncTree {
    /// Applies an operation to all views that it concerns.
    ///
    /// - Returns: their events, those of the deepest locations first.
    mutating func apply(_ operation: TreeOperation) -> [TreeEvent] {
        var results = Results(stored: extendingStore)
        Self.apply(operation, to: &points, writes.visibleWrites, Surroundings(), &results)
        return finish(results)
    }

    /// Applies an operation to the view of one query.
    private mutating func apply(_ operation: TreeOperation, to query: QuerySpec) -> [TreeEvent] {
        let surroundings = surroundings(of: query.path)
        // A view that covers the query has all its data, and receives the same changes.
        if surroundings.isCovering { return [] }
        let writes = writes.visibleWrites.descending(to: query.path)
        var results = Results(stored: extendingStore)
        update(query) { Self.apply(operation, to: &$0, writes, surroundings, &results) }
        return finish(results)
    }

    /// Where views that are open read more: the cache, if it has the data that this client's
    /// connection has brought.
    private var extendingStore: StoredTree? { stored?.isKept == true ? stored : nil }

    private mutating func finish(_ results: consuming Results) -> [TreeEvent] {
        // A second reference would have the changes below copy what is tracked.
        results.stored = nil
        for window in results.windows {
            stored?.windowChanged(of: window.query, window.changes) {
                Set(window.node.children.map(\.key))
            }
        }
        return results.events
    }

    /// The results of an operation.
    private struct Results {
        var events: [TreeEvent] = []
        /// Windows whose keys have changed.
        var windows: [(query: QuerySpec, changes: WindowKeyChanges, node: Node)] = []
        /// Where more of a stored location is read.
        var stored: StoredTree?
    }

    /// The data of other views at a location.
    private struct Surroundings {
        /// The location's content, as one of them has it from the server.
        var node: Node?
        /// True if that one loads all data.
        var isCovering = false
        /// True if the server has sent or confirmed the data of a view that loads all of it.
        var isConfirmed = false

        /// Takes account of the views at the location itself.
        mutating func add(_ point: SyncPoint) {
            isConfirmed = isConfirmed || point.plainListen.isConfirmed
            if !isCovering, let node = point.plainServerNode {
                self.node = node
                isCovering = true
            }
        }

        /// The data of a child of the location, which has views itself or none.
        func child(_ key: ChildKey, of point: SyncPoint?) -> Surroundings {
            let node = node?.child(key) ?? point?.serverNode(at: TreePath([key]))
            return Surroundings(node: node, isCovering: isCovering, isConfirmed: isConfirmed)
        }
    }

    private func surroundings(of path: TreePath) -> Surroundings {
        var surroundings = Surroundings()
        var tree: PathTree<SyncPoint>? = points
        for key in path {
            if let point = tree?.value { surroundings.add(point) }
            surroundings = surroundings.child(key, of: tree?.value)
            tree = tree?.child(key)
        }
        if let point = tree?.value { surroundings.add(point) }
        return surroundings
    }

    private static func apply(
        _ operation: TreeOperation, to tree: inout PathTree<SyncPoint>, _ writes: VisibleWrites,
        _ surroundings: Surroundings, _ results: inout Results
    ) {
        // The views here come first, since those below may take over their data; their events come
        // last.
        var surroundings = surroundings
        var here = Results(stored: results.stored)
        tree.updateValue { point in
            if point?.plainListen.isConfirmed == true { surroundings.isConfirmed = true }
            point?.updateViews { view in
                apply(operation, to: &view, writes, surroundings, &here)
                if view.query.loadsAllData, view.server.isComplete, !surroundings.isCovering {
                    surroundings.node = view.server.node
                    surroundings.isCovering = true
                }
            }
        }
        for key in concernedChildren(of: tree, by: operation) {
            guard let narrowed = operation.narrowed(to: key) else { continue }
            let below = surroundings.child(key, of: tree.value)
            tree.updateChild(key) {
                apply(narrowed, to: &$0, writes.child(key), below, &results)
            }
        }
        results.events += here.events
        results.windows += here.windows
    }

    /// The children with views that an operation concerns, in the order of their keys.
    private static func concernedChildren(
        of tree: PathTree<SyncPoint>, by operation: TreeOperation
    ) -> [ChildKey] {
        if let key = operation.path.first { return tree.child(key) == nil ? [] : [key] }
        guard let keys = operation.kind.concernedChildren else { return tree.keys.sorted() }
        return keys.filter { tree.child($0) != nil }.sorted()
    }

    private static func apply(
        _ operation: TreeOperation, to view: inout QueryView, _ writes: VisibleWrites,
        _ surroundings: Surroundings, _ results: inout Results
    ) {
        let before = view.shown
        var changes = view.apply(
            operation,
            QueryView.Context(
                writes: writes, known: surroundings.node, isCovered: surroundings.isCovering))
        view.extend(from: results.stored, writes, &changes)
        let metadata = TreeEventMetadata(
            isComplete: view.isComplete(with: writes), hasPendingWrites: !writes.isEmpty,
            isFromCache: !surroundings.isConfirmed && !view.listen.isConfirmed)
        let events = view.events(of: changes, since: before, metadata)
        results.events += events
        results.events += view.metadataEvents(after: events, metadata)
        if !view.keyChanges.isEmpty {
            if !surroundings.isCovering {
                results.windows.append((view.query, view.keyChanges, view.server.node))
            }
            view.keyChanges = WindowKeyChanges()
        }
    }
}

extension QueryView {
    /// Reads more of a stored location while pending writes leave the window short of children, or
    /// change unknown ones.
    mutating func extend(
        from stored: StoredTree?, _ writes: VisibleWrites, _ changes: inout ChildChanges
    ) {
        while let spare = spareNeeded {
            // Unreadable data stays incomplete until the server has answered.
            guard let more = (try? stored?.serverNode(for: query, spare: spare)).flatMap({ $0 })
            else {
                server.edge = nil
                break
            }
            if more.node.childCount <= server.node.childCount {
                server.edge = nil
                server.isExhaustive = true
                break
            }
            extend(to: more, writes, &changes)
        }
        if let stored { readUncertain(from: stored, writes, &changes) }
    }
}
