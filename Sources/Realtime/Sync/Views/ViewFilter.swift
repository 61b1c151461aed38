import LarderRealtimeModel

/// The children of a location that a query selects, kept up to date child by child.
struct ViewFilter: Sendable {
    let parameters: QueryParameters

    /// A filter that selects all children.
    static let all = ViewFilter(parameters: .default)

    /// True if children may be left out, and the location's priority and leaf value always are.
    var selects: Bool { !parameters.loadsAllData }

    private var index: NodeIndex { parameters.index }

    /// Finds the child after another in the direction of the limit, in the location's complete
    /// content; nil if it is the last or unknown.
    typealias NextChild = (Child) -> Child?
}

// MARK: - Whole nodes

extension ViewFilter {
    /// The query's part of a location's content, which is shared if that is all of it.
    ///
    /// Complexity: O(m log n) for m selected children of n, or O(1) for all.
    func selection(of node: Node) -> Node {
        guard selects else { return node }
        let window = parameters.window(of: node)
        if node.childCount > 0, window.count == node.childCount {
            return node.settingPriority(.none)
        }
        return Node(children: window)
    }

    /// Replaces all that is selected by the selection of other content of the location.
    func replacingAll(withSelectionOf content: Node, _ changes: inout ChildChanges) -> Node {
        changes.replaceAll()
        return selection(of: content)
    }

    /// Replaces the priority of the location.
    func replacingPriority(of node: Node, with priority: Node) -> Node {
        selects ? node : node.settingChild(.priority, to: priority)
    }

    var isFromEnd: Bool { parameters.limit?.anchor == .last }
}

// MARK: - Single children

extension ViewFilter {
    /// Replaces a child of the selection, which stays as it is if the child was not selected and
    /// still is not.
    ///
    /// Complexity: O(log n).
    func replacing(
        _ key: ChildKey, in node: Node, with content: Node, next: NextChild,
        _ changes: inout ChildChanges
    ) -> Node {
        let new = matches(Child(key, content)) ? content : .empty
        if let limit = parameters.limit, node.childCount >= limit.count {
            return replacing(key, inFull: node, with: new, next: next, &changes)
        }
        let old = node.child(key)
        if old.isEmpty, new.isEmpty { return node }
        changes.note(key, from: old, to: new)
        return node.settingChild(key, to: new)
    }

    /// True if a child that is not empty lies between the bounds.
    func matches(_ child: Child) -> Bool {
        !child.node.isEmpty && (!selects || parameters.contains(index.position(of: child)))
    }

    private func replacing(
        _ key: ChildKey, inFull window: Node, with new: Node, next: NextChild,
        _ changes: inout ChildChanges
    ) -> Node {
        let old = window.child(key)
        guard let edge = edge(of: window) else { return window }
        if old.isEmpty {
            guard !new.isEmpty, isInside(Child(key, new), edge) else { return window }
            changes.note(edge.key, from: edge.node, to: .empty)
            changes.note(key, from: .empty, to: new)
            return window.settingChild(edge.key, to: .empty).settingChild(key, to: new)
        }
        var candidate = next(edge)
        while let child = candidate, child.key == key || window.hasChild(child.key) {
            candidate = next(child)
        }
        if !new.isEmpty, candidate.map({ isInside(Child(key, new), $0) }) ?? true {
            changes.note(key, from: old, to: new)
            return window.settingChild(key, to: new)
        }
        changes.note(key, from: old, to: .empty)
        let rest = window.settingChild(key, to: .empty)
        guard let candidate, matches(candidate) else { return rest }
        changes.note(candidate.key, from: .empty, to: candidate.node)
        return rest.settingChild(candidate.key, to: candidate.node)
    }

    /// The child of a window that is farthest from the limit's anchor.
    func edge(of window: Node) -> Child? {
        let children = window.children(by: index)
        return isFromEnd ? children.first : children.last
    }

    /// True if the first child is nearer to the limit's anchor than the second.
    func isInside(_ child: Child, _ other: Child) -> Bool {
        let order = index.order(child, other)
        return isFromEnd ? order > 0 : order < 0
    }
}
