import LarderDocumentStore
import LarderModel
import LarderQuery

/// Walks through an index's segments with the conditions and orders that they serve.
struct IndexScanBuilder {
    private let segments: [IndexDefinition.Segment]
    private let term: Conjunction
    private let arrangement: Arrangement
    /// Order bytes of the constants in the first segments.
    private var prefix: [UInt8] = []
    /// For the orders from the first one, the segments they are met by; nil where a constant or
    /// an earlier order settles one.
    private var served: [Int?] = []

    /// The first segment that no constant fixes.
    private(set) var position = 0
    /// Conditions that the ranges see to.
    private(set) var used: Set<Int> = []
    /// Whether the ranges end where the bounds are.
    private(set) var seesToBounds = true
    /// Whether a place to leave out is too long for entries to tell.
    private(set) var isCut = false

    init(
        _ segments: [IndexDefinition.Segment], _ term: Conjunction, _ arrangement: Arrangement
    ) {
        self.segments = segments
        self.term = term
        self.arrangement = arrangement
    }

    /// Takes the first segments that conditions fix to one value.
    mutating func takeConstants() {
        while position < segments.count, let condition = constant(for: segments[position]) {
            prefix += bytes(condition, in: segments[position])
            used.insert(condition.position)
            position += 1
        }
    }

    private func constant(for segment: IndexDefinition.Segment)
        -> (position: Int, condition: Condition)?
    {
        let test: Condition.Test = segment.kind == .contains ? .contains : .equal
        let found = term.conditions.indices.first {
            term.conditions[$0].test == test && term.conditions[$0].path == segment.path
        }
        return found.map { ($0, term.conditions[$0]) }
    }

    private func bytes(
        _ constant: (position: Int, condition: Condition), in segment: IndexDefinition.Segment
    ) -> [UInt8] {
        let bytes = constant.condition.bytes
        return segment.kind == .descending ? bytes.complement : bytes
    }

    /// Which way to go through the index, and how far documents then come in order.
    mutating func order() -> (isReversed: Bool, delivery: Delivery) {
        var segment = position
        var isReversed: Bool?
        let orders = arrangement.orders
        for (number, order) in orders.enumerated() {
            if arrangement.isSettled(number, in: term) {
                served.append(nil)
                continue
            }
            while segment < segments.count, constant(for: segments[segment]) != nil {
                segment += 1
            }
            if order.path.isDocumentID {
                // Entries that are alike come by ascending name.
                guard segment == segments.count else { break }
                guard isReversed ?? order.isDescending == order.isDescending else {
                    return (
                        isReversed ?? false,
                        Delivery(orderCount: number, isComplete: false, lacksNameOnly: true)
                    )
                }
                return (
                    order.isDescending, Delivery(orderCount: orders.count, isComplete: true)
                )
            }
            guard segment < segments.count, segments[segment].path == order.path else { break }
            let isAgainst = (segments[segment].kind == .descending) != order.isDescending
            guard isReversed ?? isAgainst == isAgainst else { break }
            isReversed = isAgainst
            served.append(segment)
            segment += 1
        }
        let isOrdered = served.contains { $0 != nil }
        return (
            isReversed ?? false,
            Delivery(orderCount: isOrdered ? served.count : 0, isComplete: false)
        )
    }

    /// What to scan, in the index's order.
    mutating func ranges(isReversed: Bool) throws(LarderError) -> [KeyRange] {
        var ranges = [KeyRange(prefix: prefix)]
        if position < segments.count {
            let segment = segments[position]
            for (number, condition) in term.conditions.enumerated()
            where condition.path == segment.path && condition.test != .contains {
                ranges = try condition.restrict(
                    ranges, behind: prefix, isDescending: segment.kind == .descending)
                used.insert(number)
                if case .otherThan(let places) = condition.test {
                    let longest = places.lazy.map(\.count).max() ?? 0
                    if prefix.count + longest > KeyRange.exactBytes { isCut = true }
                }
            }
        }
        if let start = arrangement.start { restrict(&ranges, by: start, isFirst: true, isReversed) }
        if let end = arrangement.end { restrict(&ranges, by: end, isFirst: false, isReversed) }
        return ranges
    }

    /// Leaves in the ranges what is on the right side of a bound, as far as the index's order
    /// follows the query's.
    private mutating func restrict(
        _ ranges: inout [KeyRange], by bound: Bound, isFirst: Bool, _ isReversed: Bool
    ) {
        var bytes = prefix
        var segment = position
        var isWhole = true
        var includesPlace = bound.isInclusive
        for (number, value) in bound.values.enumerated() {
            guard number < served.count, let encoded = try? EncodedValue(value).orderBytes() else {
                isWhole = false
                break
            }
            let order = arrangement.orders[number]
            guard let place = served[number] else {
                guard let constant = term.constant(at: order.path) else {
                    isWhole = false
                    break
                }
                if constant.bytes == encoded { continue }
                let isBefore =
                    encoded.lexicographicallyPrecedes(constant.bytes) != order.isDescending
                // All documents of the place so far are on one side of the bound.
                includesPlace = isBefore == isFirst
                break
            }
            while segment < place, let constant = constant(for: segments[segment]) {
                bytes += self.bytes(constant, in: segments[segment])
                segment += 1
            }
            bytes += segments[place].kind == .descending ? encoded.complement : encoded
            segment = place + 1
        }
        if !isWhole {
            seesToBounds = false
            includesPlace = true
        }
        let place = KeyRange(prefix: bytes)
        let allowed: KeyRange
        if isFirst != isReversed {
            // What lies behind the place, in the index's order.
            guard let low = includesPlace ? place.low : place.high else {
                ranges = []
                return
            }
            allowed = KeyRange(low: low, high: nil)
        } else {
            allowed = KeyRange(low: [], high: includesPlace ? place.high : place.low)
        }
        ranges = ranges.map { $0.intersection(allowed) }.filter { !$0.isEmpty }
    }
}
