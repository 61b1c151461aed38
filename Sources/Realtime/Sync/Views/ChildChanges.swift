import LarderRealtimeModel

/// The changes of a view's children in one operation, at most one of each child.
struct ChildChanges: Sendable {
    enum Change: Sendable {
        case added(Node)
        case removed(Node)
        case changed(from: Node, to: Node)
    }

    private(set) var changes: [ChildKey: Change] = [:]

    var isEmpty: Bool { changes.isEmpty }

    /// Adds the change from one node of a child to another; an empty node is no child.
    mutating func note(_ key: ChildKey, from old: Node, to new: Node) {
        let earlier = changes.removeValue(forKey: key)
        let first =
            switch earlier {
            case .added: Node.empty
            case .removed(let node), .changed(let node, _): node
            case nil: old
            }
        if earlier != nil, first == new { return }
        switch (first.isEmpty, new.isEmpty) {
        case (true, true): break
        case (true, false): changes[key] = .added(new)
        case (false, true): changes[key] = .removed(first)
        case (false, false): changes[key] = .changed(from: first, to: new)
        }
    }
}
