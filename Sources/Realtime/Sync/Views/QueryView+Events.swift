import LarderRealtimeModel

extension QueryView {
    /// The events of one operation: of each change, one for each listener that asks for its type.
    ///
    /// - Parameter before: what was shown before the operation.
    ///
    /// Complexity: O(k log n) for k changes among n children, O(n) if they are many, and the count
    /// of the events; changes that no listener asks for are not looked at.
    func events(
        of changes: ChildChanges, since before: CachedNode, _ metadata: TreeEventMetadata
    ) -> [TreeEvent] {
        if listeners.isEmpty { return [] }
        var all = childChanges(changes, since: before)
        if isValueRaised(changes, since: before) { all.append(.value(shown.node)) }
        var events: [TreeEvent] = []
        events.reserveCapacity(all.count)
        for change in all {
            for listener in listeners where change.type.map(listener.types.contains) ?? true {
                events.append(
                    TreeEvent(
                        listener: listener.id, query: query, change: change, metadata: metadata))
            }
        }
        return events
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

    /// The value again after an operation that did not raise it: for the listeners of metadata that
    /// have received it with other metadata, and once it is complete for all that have received it
    /// incomplete.
    ///
    /// Complexity: O(1) without such listeners, otherwise that of all listeners.
    ///
    /// - Parameter events: those of the operation.
    mutating func metadataEvents(
        after events: [TreeEvent], _ metadata: TreeEventMetadata
    ) -> [TreeEvent] {
        guard shown.isComplete else { return [] }
        if events.last?.change.type == .value {
            for listener in listeners { noteValue(metadata, of: listener) }
            return []
        }
        if valueMetadata.isEmpty { return [] }
        var again: [TreeEvent] = []
        for listener in listeners {
            guard let last = valueMetadata[listener.id], last != metadata,
                metadata.isComplete || listener.includesMetadataChanges
            else { continue }
            noteValue(metadata, of: listener)
            again.append(
                TreeEvent(
                    listener: listener.id, query: query, change: .value(shown.node),
                    metadata: metadata))
        }
        return again
    }

    /// Notes the metadata of a value that a listener has received, if a change of it is raised.
    mutating func noteValue(_ metadata: TreeEventMetadata, of listener: Listener) {
        guard listener.types.contains(.value) else { return }
        let isRaised = listener.includesMetadataChanges || !metadata.isComplete
        valueMetadata[listener.id] = isRaised ? metadata : nil
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
        return (changes.isReplaced || shown.node.childCount == 0) && shown.node != before.node
    }

    /// The changes of children by type, and within a type in the order of the query; those of types
    /// that no listener asks for are left out.
    private func childChanges(
        _ changes: ChildChanges, since before: CachedNode
    ) -> [TreeEvent.Change] {
        let types = TreeEventType.allCases.filter { type in
            type != .value && listeners.contains { $0.types.contains(type) }
        }
        if types.isEmpty { return [] }
        let index = query.parameters.index
        var ofType: [TreeEventType: [Child]] = [:]
        func add(_ type: TreeEventType, _ key: ChildKey, _ node: Node) {
            if types.contains(type) { ofType[type, default: []].append(Child(key, node)) }
        }
        changes.forEach(from: before.node, to: shown.node) { key, change in
            switch change {
            case .removed(let old): add(.childRemoved, key, old)
            case .added(let new): add(.childAdded, key, new)
            case .changed(let old, let new):
                if index.isIndexedValueChanged(from: old, to: new) { add(.childMoved, key, new) }
                add(.childChanged, key, new)
            }
        }
        return types.flatMap { type -> [TreeEvent.Change] in
            let children = (ofType[type] ?? []).sorted { index.order($0, $1) < 0 }
            if type == .childRemoved { return children.map { .child(type, $0, after: nil) } }
            return zip(children, previousKeys(of: children)).map { .child(type, $0, after: $1) }
        }
    }

    /// The key of the sibling before each of some shown children, which are in the order of the
    /// query.
    ///
    /// Few are searched for. Of many, one walk through the children finds all.
    private func previousKeys(of children: [Child]) -> [ChildKey?] {
        let index = query.parameters.index
        let siblings = shown.node.children(by: index)
        func search(for child: Child) -> ChildKey? {
            siblings.last(before: index.position(of: child))?.key
        }
        if children.count < shown.node.childCount / 8 { return children.map(search) }
        var keys: [ChildKey?] = []
        keys.reserveCapacity(children.count)
        var previous: ChildKey?
        for sibling in siblings {
            if keys.count == children.count { break }
            if sibling.key == children[keys.count].key { keys.append(previous) }
            previous = sibling.key
        }
        return keys + children[keys.count...].map(search)
    }
}
