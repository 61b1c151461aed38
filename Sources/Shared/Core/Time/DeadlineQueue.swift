import HeapModule

/// Actions in order of their times, and of insertion for equal times.
///
/// Most are cancelled, so cancelling is cheap: the entry of a cancelled action is removed at its
/// time, or when such entries outnumber the actions.
struct DeadlineQueue<Action> {
    /// Identifies an action for cancelling it.
    typealias ID = UInt64

    private struct Entry: Comparable {
        let time: UInt64
        let id: ID

        static func < (left: Entry, right: Entry) -> Bool {
            (left.time, left.id) < (right.time, right.id)
        }
    }

    /// Includes entries of cancelled actions.
    private var entries = Heap<Entry>()
    private var actions: [ID: Action] = [:]
    private var lastID: ID = 0

    /// The number of entries, including those of cancelled actions that have not been removed yet.
    var footprint: Int { entries.count }

    /// The time at which the first action is due; nil if there is none.
    var nextTime: UInt64? {
        mutating get {
            while let first = entries.min {
                if actions[first.id] != nil { return first.time }
                entries.removeMin()
            }
            return nil
        }
    }
    /// Adds an action that is due at a time.
    mutating func add(_ action: Action, at time: UInt64) -> ID {
        lastID += 1
        actions[lastID] = action
        entries.insert(Entry(time: time, id: lastID))
        return lastID
    }

    /// Cancels an action that is not yet due.
    mutating func remove(_ id: ID) {
        guard actions.removeValue(forKey: id) != nil else { return }
        guard entries.count > 2 * actions.count + 64 else { return }
        entries = Heap(entries.unordered.filter { actions[$0.id] != nil })
    }

    /// Removes and returns the first action that is due.
    mutating func popDue(at now: UInt64) -> Action? {
        guard let time = nextTime, time <= now else { return nil }
        return actions.removeValue(forKey: entries.removeMin().id)
    }
}
