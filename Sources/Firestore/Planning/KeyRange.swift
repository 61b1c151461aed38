/// A range of order bytes in an index: from a low end, inclusive, to a high end, exclusive.
struct KeyRange: Sendable, Hashable {
    /// The first bytes in the range; empty for the index's first.
    var low: [UInt8]
    /// The first bytes behind the range; nil for none.
    var high: [UInt8]?

    /// Entries keep so many order bytes and are cut behind them: a longer end of a range takes
    /// in more than it says.
    static let exactBytes = 240

    /// Everything that begins with some bytes.
    init(prefix: [UInt8]) {
        low = prefix
        high = prefix.successor
    }

    init(low: [UInt8], high: [UInt8]?) {
        self.low = low
        self.high = high
    }

    var isEmpty: Bool {
        guard let high else { return false }
        return !low.lexicographicallyPrecedes(high)
    }

    /// Whether the index holds exactly what the range says, nothing cut.
    var isExact: Bool {
        low.count <= Self.exactBytes && (high?.count ?? 0) <= Self.exactBytes
    }

    /// What is in both ranges.
    func intersection(_ other: KeyRange) -> KeyRange {
        let low = low.lexicographicallyPrecedes(other.low) ? other.low : low
        guard let high else { return KeyRange(low: low, high: other.high) }
        guard let otherHigh = other.high else { return KeyRange(low: low, high: high) }
        return KeyRange(
            low: low, high: otherHigh.lexicographicallyPrecedes(high) ? otherHigh : high)
    }

    /// What is in this range and not in the other: nothing, one or two ranges in order.
    func subtracting(_ other: KeyRange) -> [KeyRange] {
        var rest: [KeyRange] = []
        rest.append(intersection(KeyRange(low: [], high: other.low)))
        if let high = other.high { rest.append(intersection(KeyRange(low: high, high: nil))) }
        return rest.filter { !$0.isEmpty }
    }
}

extension [UInt8] {
    /// The first bytes behind everything that begins with these; nil when there are none.
    var successor: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xff }) else { return nil }
        var bytes = Array(self[...last])
        bytes[last] += 1
        return bytes
    }

    /// Ascending order bytes as they are in a descending segment, and the other way round.
    var complement: [UInt8] { map { ~$0 } }
}
