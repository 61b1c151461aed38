public import Foundation

extension Value {
    /// Firestore's total order of values, which is not `==`: 1 and 1.0 are the same here.
    ///
    /// Values of different types go by their types' order; see ``ValueType``. Linear in the
    /// values' size.
    public func compare(to other: Value) -> ComparisonResult {
        let order = order(to: other)
        return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
    }

    /// Whether both values have the same place in Firestore's order, as `1` and `1.0` have.
    public func isEquivalent(to other: Value) -> Bool {
        order(to: other) == 0
    }

    /// The order as a number below, equal to or above 0.
    package func order(to other: Value) -> Int {
        switch (self, other) {
        case (.null, .null), (.max, .max): return 0
        case (.boolean(let l), .boolean(let r)): return (l ? 1 : 0) - (r ? 1 : 0)
        case (.integer(let l), .integer(let r)): return l < r ? -1 : l > r ? 1 : 0
        case (.double(let l), .double(let r)): return l.firestoreOrder(to: r)
        case (.integer(let l), .double(let r)): return l.firestoreOrder(to: r)
        case (.double(let l), .integer(let r)): return -r.firestoreOrder(to: l)
        case (.timestamp(let l), .timestamp(let r)): return Self.order(l, r)
        case (.serverTimestamp(let l), .serverTimestamp(let r)):
            return Self.order(l.localWriteTime, r.localWriteTime)
        case (.string(let l), .string(let r)): return l.utf8Order(to: r)
        case (.bytes(let l), .bytes(let r)): return l.byteOrder(to: r)
        case (.reference(let l), .reference(let r)): return l.order(to: r)
        case (.geoPoint(let l), .geoPoint(let r)):
            let order = l.latitude.firestoreOrder(to: r.latitude)
            return order != 0 ? order : l.longitude.firestoreOrder(to: r.longitude)
        case (.array(let l), .array(let r)):
            return Self.order(l, r) { $0.order(to: $1) }
        case (.vector(let l), .vector(let r)):
            let lengths = l.components.count - r.components.count
            return lengths != 0
                ? lengths : Self.order(l.components, r.components) { $0.firestoreOrder(to: $1) }
        case (.map(let l), .map(let r)):
            return Self.order(l, r) {
                let names = $0.name.utf8Order(to: $1.name)
                return names != 0 ? names : $0.value.order(to: $1.value)
            }
        default:
            return Int(type.rank - other.type.rank)
        }
    }

    private static func order(_ left: Timestamp, _ right: Timestamp) -> Int {
        left < right ? -1 : left > right ? 1 : 0
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
