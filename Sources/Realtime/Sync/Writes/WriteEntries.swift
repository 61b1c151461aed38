import LarderCore
import LarderRealtimeModel

/// A node as one write has it.
struct WriteEntry: Sendable {
    let id: WriteID
    var node: Node
    let isVisible: Bool
    let isForeign: Bool
    /// True once the write has left.
    fileprivate(set) var isRemoved = false

    init(id: WriteID, node: Node, isVisible: Bool, isForeign: Bool) {
        self.id = id
        self.node = node
        self.isVisible = isVisible
        self.isForeign = isForeign
    }
}

/// The nodes that pending writes have at one path, in the order of the writes.
///
/// Writes leave in their order as a rule, so the first are dropped by moving a mark. Others are
/// marked as removed. All are deleted once they are the larger part, so that adding and removing
/// cost O(log n) on average. The first and the last entry are never removed ones.
struct WriteEntries: Sendable {
    private var entries: [WriteEntry] = []
    private var start = 0
    /// The count of removed entries from the start on.
    private var removedCount = 0

    var isEmpty: Bool { start == entries.count }

    /// The last node of a visible write.
    var lastVisible: WriteEntry? { last(where: \.isVisible) }

    /// The last node of a write that a closure accepts.
    func last(where accepts: (WriteEntry) -> Bool) -> WriteEntry? {
        entries[start...].last { entry in
            StepCount.note()
            return !entry.isRemoved && accepts(entry)
        }
    }

    /// The nodes of writes after another; of all without one.
    func after(_ id: WriteID?) -> some Sequence<WriteEntry> {
        var first = start
        if let id {
            first = place(of: id)
            if first < entries.count, entries[first].id == id { first += 1 }
        }
        return entries[first...].lazy.filter { entry in
            StepCount.note()
            return !entry.isRemoved
        }
    }

    /// Adds the node of a write in the order of the writes' numbers.
    mutating func add(_ entry: WriteEntry) {
        guard let last = entries.last, last.id > entry.id else { return entries.append(entry) }
        let place = place(of: entry.id)
        if entries[place].id == entry.id, entries[place].isRemoved {
            entries[place] = entry
            removedCount -= 1
        } else {
            entries.insert(entry, at: place)
        }
    }

    /// Removes the node of a write.
    mutating func remove(_ id: WriteID) {
        guard let position = position(of: id) else { return }
        entries[position].isRemoved = true
        entries[position].node = .empty
        removedCount += 1
        while let last = entries.last, last.isRemoved, entries.count > start {
            entries.removeLast()
            removedCount -= 1
        }
        while start < entries.count, entries[start].isRemoved {
            start += 1
            removedCount -= 1
        }
        if (start + removedCount) * 2 > entries.count {
            entries.removeAll(where: \.isRemoved)
            (start, removedCount) = (0, 0)
        }
    }

    /// Changes the node of a write.
    mutating func update(_ id: WriteID, _ change: (inout Node) -> Void) {
        if let position = position(of: id) { change(&entries[position].node) }
    }

    private func position(of id: WriteID) -> Int? {
        let place = place(of: id)
        guard place < entries.count, entries[place].id == id else { return nil }
        return entries[place].isRemoved ? nil : place
    }

    /// The place of the first entry that does not come before a write.
    private func place(of id: WriteID) -> Int {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
