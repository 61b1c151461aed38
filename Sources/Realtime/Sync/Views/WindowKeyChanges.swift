import LarderRealtimeModel

/// How the keys that a filtered query selects of the server's data have changed, for the cache.
struct WindowKeyChanges: Sendable {
    /// True if the window was established as a whole, so that all its keys are to be stored.
    private(set) var isReplaced = false
    /// The keys that entered and left the window since.
    private(set) var changes = ChildChanges()

    var isEmpty: Bool { !isReplaced && changes.isEmpty }

    mutating func replace() {
        self = WindowKeyChanges()
        isReplaced = true
    }

    mutating func note(_ key: ChildKey, from old: Node, to new: Node) {
        changes.note(key, from: old, to: new)
    }

    mutating func note(_ other: ChildChanges) {
        for (key, change) in other.changes {
            switch change {
            case .added(let node): note(key, from: .empty, to: node)
            case .removed(let node): note(key, from: node, to: .empty)
            case .changed: break
            }
        }
    }

    var added: Set<ChildKey> {
        keys { if case .added = $0 { true } else { false } }
    }

    var removed: Set<ChildKey> {
        keys { if case .removed = $0 { true } else { false } }
    }

    private func keys(_ accepts: (ChildChanges.Change) -> Bool) -> Set<ChildKey> {
        Set(changes.changes.filter { accepts($0.value) }.keys)
    }
}
