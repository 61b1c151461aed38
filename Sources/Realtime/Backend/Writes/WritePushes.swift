import LarderRealtimeModel
import LarderRealtimeRemote

/// The pushes of a write to the listens that it affects: those on the way to a written path, and
/// those below one.
struct WritePushes {
    private let write: TreeWrite
    private let old: Node
    private let new: Node
    /// The nodes that differ, by their paths from the root.
    private let changed: [PathValue]

    /// The pushes of a write that turned a tree into another.
    init(of write: TreeWrite, from old: Node, to new: Node) {
        self.write = write
        self.old = old
        self.new = new
        changed = write.values.compactMap { value in
            let path = write.path.appending(value.path)
            let node = new.node(at: path)
            return node == old.node(at: path) ? nil : PathValue(path, node)
        }
    }

    /// Calls a closure with each push and its receiver, from the root down.
    func forEach(in registry: ListenRegistry, _ body: (BackendSession, RealtimePush) -> Void) {
        guard !changed.isEmpty else { return }
        visit(Location(place: registry.root, path: .root, old: old, new: new), changed, body)
    }

    /// A place with listens, and the nodes there before and after the write.
    private struct Location {
        let place: ListenRegistry.Place
        let path: TreePath
        let old: Node
        let new: Node

        func child(_ key: ChildKey) -> Location? {
            place.children[key].map {
                Location(
                    place: $0, path: path.child(key), old: old.child(key), new: new.child(key))
            }
        }
    }

    /// Visits a location on the way to written paths.
    ///
    /// - Parameter values: the changed nodes, relative to the location.
    private func visit(
        _ location: Location, _ values: [PathValue], _ body: (BackendSession, RealtimePush) -> Void
    ) {
        if values.contains(where: \.path.isEmpty) { return visitWritten(location, body) }
        var byChild: [ChildKey: [PathValue]] = [:]
        for value in values {
            byChild[value.path[value.path.startIndex], default: []].append(value)
        }
        for group in location.place.orderedGroups {
            if group.parameters.loadsAllData {
                send(values, at: location.path, to: group, body)
                continue
            }
            var children = byChild.mapValues { $0[0].path.count == 1 ? [] : $0 }
            // Windows have no priority.
            children[.priority] = nil
            sendWindow(location, children, to: group, body)
        }
        for (key, values) in byChild.sorted(by: { $0.key < $1.key }) {
            guard let child = location.child(key) else { continue }
            visit(child, values.map { PathValue($0.path.dropFirst(), $0.node) }, body)
        }
    }

    /// Visits a location at or below a written path.
    private func visitWritten(_ location: Location, _ body: (BackendSession, RealtimePush) -> Void)
    {
        guard location.old != location.new else { return }
        for group in location.place.orderedGroups {
            if group.parameters.loadsAllData {
                send([PathValue(.root, location.new)], at: location.path, to: group, body)
                continue
            }
            var children: [ChildKey: [PathValue]] = [:]
            Node.forEachChangedChild(from: location.old, to: location.new) { key, _, _ in
                children[key] = []
            }
            sendWindow(location, children, to: group, body)
        }
        for key in location.place.children.keys.sorted() {
            if let child = location.child(key) { visitWritten(child, body) }
        }
    }

    // MARK: Sending

    /// Sends the changed nodes below a location to listens that load all data: an update as an
    /// update of the written location.
    private func send(
        _ values: [PathValue], at path: TreePath, to group: ListenRegistry.Group,
        _ body: (BackendSession, RealtimePush) -> Void
    ) {
        let depth = max(0, write.path.count - path.count)
        let base = depth > 0 ? write.path : path
        for (session, tag) in group.listeners {
            if values.count == 1 {
                body(
                    session,
                    .overwrite(path.appending(values[0].path), values[0].node, tag: tag))
            } else {
                let relative = values.map { PathValue($0.path.dropFirst(depth), $0.node) }
                body(session, .merge(base, relative, tag: tag))
            }
        }
    }

    /// Sends the changes of a window.
    ///
    /// - Parameter children: the changed children, each with the nodes that were written below it;
    ///   none for a child that was replaced as a whole.
    private func sendWindow(
        _ location: Location, _ children: [ChildKey: [PathValue]],
        to group: ListenRegistry.Group, _ body: (BackendSession, RealtimePush) -> Void
    ) {
        guard !children.isEmpty else { return }
        let values = WindowChanges(group.parameters, from: location.old, to: location.new)
            .values(changed: children)
        guard let first = values.first else { return }
        for (session, tag) in group.listeners {
            if values.count == 1 && first.path.count > 1 {
                body(
                    session, .overwrite(location.path.appending(first.path), first.node, tag: tag))
            } else {
                body(session, .merge(location.path, values, tag: tag))
            }
        }
    }
}
