/// Values by name, in UTF-8 order of names: a map, or all fields of a document.
///
/// Names are compared as bytes, unlike the keys of `[String: Value]`, for which a composed and a
/// decomposed "é" are equal. Look-up takes logarithmic time.
public struct MapValue: Sendable {
    /// One name with its value.
    public typealias Element = (name: String, value: Value)

    private var entries: [Element] = []

    /// An empty map.
    public init() {}

    /// Creates a map from pairs in any order; the last of equal names takes effect.
    public init(_ pairs: some Sequence<Element>) {
        entries = Array(pairs)
        if Self.isOrdered(entries) { return }
        let given = entries
        let positions = given.indices.sorted { left, right in
            let order = given[left].name.utf8Order(to: given[right].name)
            return order == 0 ? left < right : order < 0
        }
        entries.removeAll(keepingCapacity: true)
        for position in positions {
            if let last = entries.last, last.name.hasSameUTF8(as: given[position].name) {
                entries.removeLast()
            }
            entries.append(given[position])
        }
    }

    /// True if the names are strictly ascending.
    private static func isOrdered(_ entries: [Element]) -> Bool {
        zip(entries, entries.dropFirst()).allSatisfy { $0.name.utf8Order(to: $1.name) < 0 }
    }

    /// Creates a map from a dictionary.
    public init(_ dictionary: [String: Value]) {
        self.init(dictionary.lazy.map { (name: $0.key, value: $0.value) })
    }

    /// Adopts entries in strictly ascending order of names.
    package init(ordered entries: [Element]) {
        self.entries = entries
    }

    /// The value of a name; nil if there is none; setting nil removes it.
    public subscript(name: String) -> Value? {
        get {
            let position = firstPosition(notBelow: name)
            guard has(name, at: position) else { return nil }
            return entries[position].value
        }
        set {
            let position = firstPosition(notBelow: name)
            switch (has(name, at: position), newValue) {
            case (true, .some(let value)): entries[position].value = value
            case (true, nil): entries.remove(at: position)
            case (false, .some(let value)): entries.insert((name, value), at: position)
            case (false, nil): break
            }
        }
    }

    /// The names in UTF-8 order.
    public var names: [String] { entries.map(\.name) }

    /// The entries as a dictionary; the last of names that are equal Swift strings takes effect.
    public var dictionary: [String: Value] {
        Dictionary(entries.lazy.map { ($0.name, $0.value) }) { _, last in last }
    }

    private func has(_ name: String, at position: Int) -> Bool {
        position < entries.count && entries[position].name.hasSameUTF8(as: name)
    }

    private func firstPosition(notBelow name: String) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].name.utf8Order(to: name) < 0 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

extension MapValue: RandomAccessCollection {
    /// The first position.
    public var startIndex: Int { 0 }
    /// The position after the last.
    public var endIndex: Int { entries.count }
    /// The entry at a position, in UTF-8 order of names.
    public subscript(position: Int) -> Element { entries[position] }
}

extension MapValue: ExpressibleByDictionaryLiteral {
    /// Creates a map from pairs in any order; the last of equal names takes effect.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements.lazy.map { (name: $0.0, value: $0.1) })
    }
}

extension MapValue: Hashable {
    /// True if the same names have equal values.
    public static func == (left: MapValue, right: MapValue) -> Bool {
        left.elementsEqual(right) { $0.name.hasSameUTF8(as: $1.name) && $0.value == $1.value }
    }

    /// Hashes names and values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for entry in self {
            entry.name.hashUTF8(into: &hasher)
            hasher.combine(entry.value)
        }
    }
}
