package import LarderRealtimeModel
package import LarderRealtimeSync

/// What a listener of all events has been told: children in their order, and the last value.
package struct ViewReplica {
    package let query: QuerySpec
    private var children: [Child] = []
    package private(set) var value: Node?
    private var isValueNews = false
    /// The type of the last event of the operation; nil before the first.
    package private(set) var lastType: TreeEventType?

    package init(_ query: QuerySpec) {
        self.query = query
    }

    /// Applies an event.
    ///
    /// - Returns: what is wrong with it, in words.
    package mutating func apply(_ event: TreeEvent) -> String? {
        if let last = lastType, let type = event.change.type, type < last {
            return "\(type) after \(last)"
        }
        lastType = event.change.type
        // The refusal of a write can leave a query without complete data again.
        if !event.metadata.isComplete { value = nil }
        switch event.change {
        case .cancelled: return "cancelled"
        case .value(let node):
            value = node
            isValueNews = true
            return nil
        case .child(let type, let child, let previous):
            return apply(type, child, previous)
        }
    }

    private mutating func apply(
        _ type: TreeEventType, _ child: Child, _ previous: ChildKey?
    ) -> String? {
        let place = children.firstIndex { $0.key == child.key }
        switch type {
        case .childRemoved:
            guard let place, children[place] == child else {
                return "\(child.key) is removed, which is not there or another"
            }
            children.remove(at: place)
        case .childAdded:
            if place != nil { return "\(child.key) is added, which is there" }
            children.append(child)
        case .childMoved, .childChanged:
            guard let place else { return "\(child.key) has changed, which is not there" }
            if type == .childChanged, children[place] == child, !moved.contains(child.key) {
                return "\(child.key) has changed to what it was"
            }
            children[place] = child
            if type == .childMoved { moved.insert(child.key) }
        case .value: break
        }
        claims.append((child.key, type == .childRemoved ? nil : previous, type))
        return nil
    }

    private var moved: Set<ChildKey> = []
    private var claims: [(key: ChildKey, previous: ChildKey?, type: TreeEventType)] = []

    /// Checks what the events of an operation said of the order, once all are applied.
    package mutating func endOperation() -> String? {
        defer { forgetOperation() }
        let index = query.parameters.index
        children.sort { index.order($0, $1) < 0 }
        for claim in claims where claim.type != .childRemoved {
            guard let place = children.firstIndex(where: { $0.key == claim.key }) else { continue }
            let previous = place > 0 ? children[place - 1].key : nil
            if previous != claim.previous {
                return "\(claim.key) is said to follow \(claim.previous?.text ?? "none")"
            }
        }
        if isValueNews, let value, Array(value.children(by: index)) != children {
            return "the value is not that of the children"
        }
        if !claims.isEmpty, value != nil, !isValueNews { return "no value after children" }
        return nil
    }

    /// Forgets what the events so far said of the order: without a value nothing tells where an
    /// operation has ended.
    package mutating func forgetOperation() {
        claims = []
        moved = []
        isValueNews = false
        lastType = nil
    }

    /// True if the listener has been told of just this node.
    package func shows(_ node: Node) -> Bool {
        value == node && Array(node.children(by: query.parameters.index)) == children
    }
}
