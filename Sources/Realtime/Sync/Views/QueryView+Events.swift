import LarderRealtimeModel

extension QueryView {
    /// The events of one operation: of each change, one for each listener that asks for its type.
    ///
    /// - Parameter before: what was shown before the operation.
    ///
    /// Complexity: O(k log n) for k changes among n children, and the count of the events.
    func events(
        of changes: ChildChanges, since before: CachedNode, _ metadata: TreeEventMetadata
    ) -> [TreeEvent] {
        if listeners.isEmpty { return [] }
        var all = childChanges(changes)
        if isValueRaised(changes, since: before) { all.append(.value(shown.node)) }
        return all.flatMap { change in
            listeners.filter { change.type.map($0.types.contains) ?? true }.map {
                TreeEvent(listener: $0.id, query: query, change: change, metadata: metadata)
            }
        }
    }

    /// The events that bring a new listener up to date: each child, and the value if it is known.
    func initialEvents(for listener: Listener, _ metadata: TreeEventMetadata) -> [TreeEvent] {
        var all: [TreeEvent.Change] = []
        if listener.types.contains(.childAdded) {
            var previous: ChildKey?
            for child in shown.node.children(by: query.parameters.index) {
                all.append(.child(.childAdded, child, after: previous))
                previous = child.key
            }
        }
        if shown.isComplete, listener.types.contains(.value) { all.append(.value(shown.node)) }
        return all.map {
            TreeEvent(listener: listener.id, query: query, change: $0, metadata: metadata)
        }
    }

    /// The events that end every listener.
    func cancellations(_ error: LarderError, _ metadata: TreeEventMetadata) -> [TreeEvent] {
        listeners.map {
            TreeEvent(listener: $0.id, query: query, change: .cancelled(error), metadata: metadata)
        }
    }

    private func isValueRaised(_ changes: ChildChanges, since before: CachedNode) -> Bool {
        guard shown.isComplete else { return false }
        if !changes.isEmpty || !before.isComplete || shown.node.priority != before.node.priority {
            return true
        }
        return shown.node.childCount == 0 && shown.node != before.node
    }

    /// The changes of children by type, and within a type in the order of the query.
    private func childChanges(_ changes: ChildChanges) -> [TreeEvent.Change] {
        var ofType: [TreeEventType: [Child]] = [:]
        for (key, change) in changes.changes {
            switch change {
            case .removed(let old): ofType[.childRemoved, default: []].append(Child(key, old))
            case .added(let new): ofType[.childAdded, default: []].append(Child(key, new))
            case .changed(let old, let new):
                if query.parameters.index.isIndexedValueChanged(from: old, to: new) {
                    ofType[.childMoved, default: []].append(Child(key, new))
                }
                ofType[.childChanged, default: []].append(Child(key, new))
            }
        }
        return ofType.sorted { $0.key < $1.key }.flatMap { type, children in
            children.sorted { query.parameters.index.order($0, $1) < 0 }.map { child in
                .child(type, child, after: type == .childRemoved ? nil : previousKey(of: child))
            }
        }
    }

    private func previousKey(of child: Child) -> ChildKey? {
        let index = query.parameters.index
        return shown.node.children(by: index).last(before: index.position(of: child))?.key
    }
}
