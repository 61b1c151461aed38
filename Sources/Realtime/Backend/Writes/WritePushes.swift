import LarderRealtimeModel
import LarderRealtimeRemote

/// The pushes of a write to the listens that it affects: those on the way to a written path, and
/// those below one.
///
/// The changes of windows are computed while there is time; later ones are left to their sessions.
struct WritePushes {
    /// What a listen is to receive.
    enum Delivery {
        case push(RealtimePush)
        /// The present content of a query, when it is the turn of the session.
        case content(QuerySpec)
    }

    typealias Receiver = (ListenRegistry.Listener, Delivery) -> Void

    private let write: TreeWrite
    private let old: Node
    private let new: Node
    /// The nodes that differ, by their paths from the root.
    private let changed: [PathValue]
    private let isLate: () -> Bool

    /// The pushes of a write that turned a tree into another.
    ///
    /// - Parameter isLate: true once no more windows should be computed.
    init(of write: TreeWrite, from old: Node, to new: Node, isLate: @escaping () -> Bool) {
        self.isLate = isLate
        self.write = write
        self.old = old
        self.new = new
        changed = write.values.compactMap { value in
            let path = write.path.appending(value.path)
            let node = new.node(at: path)
            return node == old.node(at: path) ? nil : PathValue(path, node)
        }
    }

    /// Calls a closure with each listen and what it receives, from the root down.
    func forEach(in registry: ListenRegistry, _ body: Receiver) {
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

        /// The children that differ, as ones that were replaced as a whole.
        var changedChildren: [ChildKey: [PathValue]] {
            var children: [ChildKey: [PathValue]] = [:]
            Node.forEachChangedChild(from: old, to: new) { key, _, _ in children[key] = [] }
            return children
        }
    }

    /// Visits a location on the way to written paths.
    ///
    /// - Parameter values: the changed nodes, relative to the location.
    private func visit(_ location: Location, _ values: [PathValue], _ body: Receiver) {
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
    private func visitWritten(_ location: Location, _ body: Receiver) {
        guard location.old != location.new else { return }
        lazy var children = location.changedChildren
        for group in location.place.orderedGroups {
            if group.parameters.loadsAllData {
                send([PathValue(.root, location.new)], at: location.path, to: group, body)
                continue
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
        _ values: [PathValue], at path: TreePath, to group: ListenRegistry.Group, _ body: Receiver
    ) {
        let depth = max(0, write.path.count - path.count)
        let base = depth > 0 ? write.path : path
        for listener in group.listeners {
            if values.count == 1 {
                let path = path.appending(values[0].path)
                body(listener, .push(.overwrite(path, values[0].node, tag: listener.tag)))
            } else {
                let relative = values.map { PathValue($0.path.dropFirst(depth), $0.node) }
                body(listener, .push(.merge(base, relative, tag: listener.tag)))
            }
        }
    }

    /// Sends the changes of a window, unless it is late.
    ///
    /// A listen whose whole window is to be sent receives no changes.
    ///
    /// - Parameter children: the changed children, each with the nodes that were written below it;
    ///   none for a child that was replaced as a whole.
    private func sendWindow(
        _ location: Location, _ children: [ChildKey: [PathValue]],
        to group: ListenRegistry.Group, _ body: Receiver
    ) {
        guard !children.isEmpty, group.listeners.contains(where: { !$0.isUnsent }) else { return }
        let listeners = group.listeners.filter { !$0.isUnsent }
        if isLate() {
            let query = QuerySpec(location.path, group.parameters)
            for listener in listeners { body(listener, .content(query)) }
            return
        }
        let values = WindowChanges(group.parameters, from: location.old, to: location.new)
            .values(changed: children)
        guard let first = values.first else { return }
        for listener in listeners {
            if values.count == 1 && first.path.count > 1 {
                let path = location.path.appending(first.path)
                body(listener, .push(.overwrite(path, first.node, tag: listener.tag)))
            } else {
                body(listener, .push(.merge(location.path, values, tag: listener.tag)))
            }
        }
    }
}
