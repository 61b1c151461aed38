/// A position in encoded data that containers fill, possibly later.
final class EncodingSlot {
    /// The content at a position: a finished value or another slot.
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

    /// The data; nil if nothing was encoded.
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

    func becomeMap() {
        if case .map = content { return }
        content = .map([])
    }

    func becomeList() {
        if case .list = content { return }
        content = .list([])
    }

    /// The number of elements of a list.
    var count: Int {
        if case .list(let entries) = content { entries.count } else { 0 }
    }

    /// Adds an entry to a map; the last of several equal names wins.
    func put(_ entry: Entry, named name: String) {
        guard case .map(var entries) = content else { return }
        content = .empty
        entries.append((name, entry))
        content = .map(entries)
    }

    func append(_ entry: Entry) {
        guard case .list(var entries) = content else { return }
        content = .empty
        entries.append(entry)
        content = .list(entries)
    }

    /// The slot of a nested container, reused if it was requested before.
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

    func appendedSlot() -> EncodingSlot {
        let slot = EncodingSlot()
        append(.slot(slot))
        return slot
    }
}
