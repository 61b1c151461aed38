package import LarderModel

extension Value {
    /// Firestore's order, below, equal to or above 0; independent of the storage core's.
    package func modelOrder(to other: Value) -> Int {
        switch (self, other) {
        case (.null, .null), (.max, .max): return 0
        case (.boolean(let l), .boolean(let r)): return (l ? 1 : 0) - (r ? 1 : 0)
        case (.integer(let l), .integer(let r)): return l < r ? -1 : l > r ? 1 : 0
        case (.double(let l), .double(let r)): return l.modelOrder(to: r)
        case (.integer(let l), .double(let r)): return l.modelOrder(to: r)
        case (.double(let l), .integer(let r)): return -r.modelOrder(to: l)
        case (.timestamp(let l), .timestamp(let r)): return Self.order(l, r)
        case (.serverTimestamp(let l), .serverTimestamp(let r)):
            return Self.order(l.localWriteTime, r.localWriteTime)
        case (.string(let l), .string(let r)): return l.utf8Order(to: r)
        case (.bytes(let l), .bytes(let r)): return l.byteOrder(to: r)
        case (.reference(let l), .reference(let r)): return Self.order(l, r)
        case (.geoPoint(let l), .geoPoint(let r)):
            let order = l.latitude.modelOrder(to: r.latitude)
            return order != 0 ? order : l.longitude.modelOrder(to: r.longitude)
        case (.array(let l), .array(let r)):
            return Self.order(l, r) { $0.modelOrder(to: $1) }
        case (.vector(let l), .vector(let r)):
            let lengths = l.components.count - r.components.count
            return lengths != 0
                ? lengths : Self.order(l.components, r.components) { $0.modelOrder(to: $1) }
        case (.map(let l), .map(let r)):
            return Self.order(l, r) {
                let names = $0.name.utf8Order(to: $1.name)
                return names != 0 ? names : $0.value.modelOrder(to: $1.value)
            }
        default:
            return Int(type.rank - other.type.rank)
        }
    }

    private static func order(_ left: Timestamp, _ right: Timestamp) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    /// Segment by segment, empty ones skipped; numeric IDs first and by number.
    private static func order(_ left: ResourceName, _ right: ResourceName) -> Int {
        let left = left.string.utf8.split(separator: UInt8(ascii: "/"))
        let right = right.string.utf8.split(separator: UInt8(ascii: "/"))
        return order(left, right) { left, right in
            switch (number(left), number(right)) {
            case (nil, nil): left.byteOrder(to: right)
            case (nil, _?): 1
            case (_?, nil): -1
            case (let l?, let r?): l < r ? -1 : l > r ? 1 : left.byteOrder(to: right)
            }
        }
    }

    /// The number in the canonical spelling of a numeric ID.
    private static func number(_ segment: Substring.UTF8View) -> Int64? {
        guard let text = String(segment), text.hasPrefix("__id"), text.hasSuffix("__"),
            let number = Int64(text.dropFirst(4).dropLast(2)), "__id\(number)__" == text
        else { return nil }
        return number
    }

    /// Element by element, then by count.
    private static func order<C: RandomAccessCollection>(
        _ left: C, _ right: C, by element: (C.Element, C.Element) -> Int
    ) -> Int {
        for (l, r) in zip(left, right) {
            let order = element(l, r)
            if order != 0 { return order }
        }
        return left.count - right.count
    }
}

extension Double {
    /// Firestore's order of doubles: NaN first and equal to NaN, -0.0 equal to 0.0.
    fileprivate func modelOrder(to other: Double) -> Int {
        if self < other { return -1 }
        if self > other { return 1 }
        if self == other { return 0 }
        return (isNaN ? 0 : 1) - (other.isNaN ? 0 : 1)
    }
}

extension Int64 {
    /// The order of an integer and a double, by exact number: nothing is rounded.
    fileprivate func modelOrder(to number: Double) -> Int {
        if number.isNaN { return 1 }
        if number >= 0x1p63 { return -1 }
        if number < -0x1p63 { return 1 }
        let whole = Int64(number)
        if self != whole { return self < whole ? -1 : 1 }
        let fraction = number - Double(whole)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}
