/// A place in encoded data that containers fill, at once or later.
final class EncodingSlot {
    /// What stands at a place: a finished value, or another slot.
    enum Entry {
        case value(Any)
        case slot(EncodingSlot)

        var finished: Any {
            switch self {
            case .value(let value): value
            case .slot(let slot): slot.finished ?? [String: Any]()
            }
        }
    }

    private enum Content {
        case empty
        case value(Any)
        case map([(name: String, entry: Entry)])
        case list([Entry])
    }

    private var content = Content.empty

    /// The data; nil when nothing was encoded.
    var finished: Any? {
        switch content {
        case .empty: return nil
        case .value(let value): return value
        case .list(let entries): return entries.map(\.finished)
        case .map(let entries):
            var map = [String: Any](minimumCapacity: entries.count)
            for (name, entry) in entries { map[name] = entry.finished }
            return map
        }
    }

    /// Fills the slot with one value.
    func set(_ value: Any) {
        content = .value(value)
    }

    /// Makes the slot a map, unless it is one.
    func becomeMap() {
        if case .map = content { return }
        content = .map([])
    }

    /// Makes the slot a list, unless it is one.
    func becomeList() {
        if case .list = content { return }
        content = .list([])
    }

    /// The number of elements of a list.
    var count: Int {
        if case .list(let entries) = content { entries.count } else { 0 }
    }

    /// Puts an entry into the map that this slot is; the last of equal names stays.
    func put(_ entry: Entry, named name: String) {
        guard case .map(var entries) = content else { return }
        content = .empty
        entries.append((name, entry))
        content = .map(entries)
    }

    /// Puts an entry behind the list that this slot is.
    func append(_ entry: Entry) {
        guard case .list(var entries) = content else { return }
        content = .empty
        entries.append(entry)
        content = .list(entries)
    }

    /// The slot of a name that is to be a container, which may have been asked for before.
    func slot(named name: String) -> EncodingSlot {
        if case .map(let entries) = content,
            case .slot(let known)? = entries.last(where: { $0.name == name })?.entry
        {
            return known
        }
        let slot = EncodingSlot()
        put(.slot(slot), named: name)
        return slot
    }

    /// A new slot behind the list that this slot is.
    func appendedSlot() -> EncodingSlot {
        let slot = EncodingSlot()
        append(.slot(slot))
        return slot
    }
}
