import LarderRealtimeModel

/// A node as one write has it.
struct WriteEntry: Sendable {
    let id: WriteID
    var node: Node
    let isVisible: Bool
    let isForeign: Bool
}

/// The nodes that pending writes have at one path, in the order of the writes.
///
/// Writes leave in their order as a rule, so the first are dropped by moving a mark.
struct WriteEntries: Sendable {
    private var entries: [WriteEntry] = []
    private var start = 0

    var isEmpty: Bool { start == entries.count }

    /// The last node of a visible write.
    var lastVisible: WriteEntry? { last(where: \.isVisible) }

    /// The last node of a write that a closure accepts.
    func last(where accepts: (WriteEntry) -> Bool) -> WriteEntry? {
        entries[start...].last(where: accepts)
    }

    /// The nodes of writes that a closure accepts.
    func filter(_ accepts: (WriteEntry) -> Bool) -> some Sequence<WriteEntry> {
        entries[start...].filter(accepts)
    }

    /// Adds the node of a write in the order of the writes' numbers.
    mutating func add(_ entry: WriteEntry) {
        if let last = entries.last, last.id > entry.id {
            entries.insert(entry, at: place(of: entry.id))
        } else {
            entries.append(entry)
        }
    }

    /// Removes the node of a write.
    mutating func remove(_ id: WriteID) {
        if !isEmpty, entries[start].id == id {
            start += 1
            if start * 2 > entries.count {
                entries.removeFirst(start)
                start = 0
            }
        } else if let position = position(of: id) {
            entries.remove(at: position)
        }
    }

    /// Changes the node of a write.
    mutating func update(_ id: WriteID, _ change: (inout Node) -> Void) {
        if let position = position(of: id) { change(&entries[position].node) }
    }

    private func position(of id: WriteID) -> Int? {
        let place = place(of: id)
        return place < entries.count && entries[place].id == id ? place : nil
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
