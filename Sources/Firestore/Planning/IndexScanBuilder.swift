import LarderDocumentStore
import LarderModel
import LarderQuery

/// Matches an index's segments with the conditions and orders that they serve.
struct IndexScanBuilder {
    private let segments: [IndexDefinition.Segment]
    private let term: Conjunction
    private let ordering: ResultOrdering
    /// The order bytes of the fixed values of the first segments.
    private var prefix: [UInt8] = []
    /// The segments that serve the leading orders; nil for an order without effect.
    private var served: [Int?] = []

    /// The first segment that no constant fixes.
    private(set) var position = 0
    /// The conditions that the ranges cover.
    private(set) var used: Set<Int> = []
    private(set) var coversBounds = true
    /// Whether an excluded value is too long to be recognised in entries.
    private(set) var isCut = false

    init(
        _ segments: [IndexDefinition.Segment], _ term: Conjunction, _ ordering: ResultOrdering
    ) {
        self.segments = segments
        self.term = term
        self.ordering = ordering
    }

    /// Consumes the leading segments that conditions fix to one value.
    mutating func consumeConstants() {
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

    /// The direction of the scan, and the part of the requested order it provides.
    mutating func order() -> (isReversed: Bool, providedOrder: ProvidedOrder) {
        var segment = position
        var isReversed: Bool?
        let orders = ordering.orders
        for (number, order) in orders.enumerated() {
            if ordering.isRedundant(number, in: term) {
                served.append(nil)
                continue
            }
            while segment < segments.count, constant(for: segments[segment]) != nil {
                segment += 1
            }
            if order.path.isDocumentID {
                // Entries with equal order bytes are sorted by ascending name.
                guard segment == segments.count else { break }
                guard isReversed ?? order.isDescending == order.isDescending else {
                    return (
                        isReversed ?? false,
                        ProvidedOrder(
                            orderCount: number, isComplete: false, lacksDocumentIDOnly: true)
                    )
                }
                return (
                    order.isDescending, ProvidedOrder(orderCount: orders.count, isComplete: true)
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
            ProvidedOrder(orderCount: isOrdered ? served.count : 0, isComplete: false)
        )
    }

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
        if let start = ordering.start { restrict(&ranges, by: start, isFirst: true, isReversed) }
        if let end = ordering.end { restrict(&ranges, by: end, isFirst: false, isReversed) }
        return ranges
    }

    /// Restricts the ranges by a bound, as far as the index's order agrees with the query's.
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
            let order = ordering.orders[number]
            guard let place = served[number] else {
                guard let constant = term.constant(at: order.path) else {
                    isWhole = false
                    break
                }
                if constant.bytes == encoded { continue }
                let isBefore =
                    encoded.lexicographicallyPrecedes(constant.bytes) != order.isDescending
                // All documents with this prefix are on one side of the bound.
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
            coversBounds = false
            includesPlace = true
        }
        let place = KeyRange(prefix: bytes)
        let allowed: KeyRange
        if isFirst != isReversed {
            // The entries after the place, in the index's order.
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
