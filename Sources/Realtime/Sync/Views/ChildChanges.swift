import LarderRealtimeModel

/// The changes of a view's children in one operation, at most one of each child.
///
/// Once all children are replaced, single changes are not noted: they are the differences between
/// what was shown before the operation and what is shown after it, and are computed if a listener
/// asks for them.
struct ChildChanges: Sendable {
    enum Change: Sendable {
        case added(Node)
        case removed(Node)
        case changed(from: Node, to: Node)
    }

    private(set) var changes: [ChildKey: Change] = [:]
    /// True if all children were replaced.
    private(set) var isReplaced = false

    /// True without noted changes; some may be found after a replacement nevertheless.
    var isEmpty: Bool { changes.isEmpty }

    /// All children were replaced.
    mutating func replaceAll() {
        isReplaced = true
        changes = [:]
    }

    /// Adds the change from one node of a child to another; an empty node is no child.
    mutating func note(_ key: ChildKey, from old: Node, to new: Node) {
        if isReplaced { return }
        let earlier = changes.removeValue(forKey: key)
        let first =
            switch earlier {
            case .added: Node.empty
            case .removed(let node), .changed(let node, _): node
            case nil: old
            }
        if earlier != nil, first == new { return }
        if let change = Change(from: first, to: new) { changes[key] = change }
    }

    /// Calls a closure with each change: in the order of the keys after a replacement, otherwise in
    /// no order.
    ///
    /// - Parameters:
    ///   - before: what was shown before the operation.
    ///   - after: what is shown after it.
    func forEach(from before: Node, to after: Node, _ body: (ChildKey, Change) -> Void) {
        guard isReplaced else {
            for (key, change) in changes { body(key, change) }
            return
        }
        Node.forEachChangedChild(from: before, to: after) { key, old, new in
            if let change = Change(from: old, to: new) { body(key, change) }
        }
    }
}

extension ChildChanges.Change {
    /// The change from one node to another; nil if both are empty.
    fileprivate init?(from old: Node, to new: Node) {
        switch (old.isEmpty, new.isEmpty) {
        case (true, true): return nil
        case (true, false): self = .added(new)
        case (false, true): self = .removed(old)
        case (false, false): self = .changed(from: old, to: new)
        }
    }
}
