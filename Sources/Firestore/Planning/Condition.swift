import LarderModel
import LarderQuery

/// A condition on a field that an index can answer.
struct Condition: Sendable, Hashable {
    enum Test: Sendable, Hashable {
        /// The field has the same position in the order as the value.
        case equal
        /// The field is an array with an element at the value's position.
        case contains
        /// The field is less than the value and has its type.
        case below(isInclusive: Bool)
        /// The field is greater than the value and has its type.
        case above(isInclusive: Bool)
        /// The field is neither null nor at one of these positions in the order.
        case otherThan([[UInt8]])
    }

    let path: FieldPath
    let test: Test
    let type: ValueType
    /// The ascending order bytes of the operand; empty for ``Test/otherThan(_:)``.
    let bytes: [UInt8]

    /// The condition of a filter on a field that is not the name; nil if planning does not support
    /// it, or if the caller must split it.
    init?(_ filter: FieldFilter) {
        switch filter.op {
        case .equal: self.init(filter.path, .equal, filter.value)
        case .arrayContains: self.init(filter.path, .contains, filter.value)
        case .lessThan: self.init(filter.path, .below(isInclusive: false), filter.value)
        case .lessThanOrEqual: self.init(filter.path, .below(isInclusive: true), filter.value)
        case .greaterThan: self.init(filter.path, .above(isInclusive: false), filter.value)
        case .greaterThanOrEqual: self.init(filter.path, .above(isInclusive: true), filter.value)
        case .notEqual:
            guard let bytes = Self.orderBytes(filter.value) else { return nil }
            self.init(filter.path, otherThan: [bytes])
        case .notIn:
            guard case .array(let values) = filter.value else { return nil }
            // NaN equals no value and is not excluded.
            self.init(
                filter.path,
                otherThan: values.filter { !$0.isNullOrNaN }.compactMap(Self.orderBytes))
        case .in, .arrayContainsAny: return nil
        }
    }

    /// The condition for an operand or, of `in` and `array-contains-any`, for one of the operands.
    init?(_ path: FieldPath, _ test: Test, _ value: Value) {
        guard let bytes = Self.orderBytes(value) else { return nil }
        self.path = path
        self.test = test
        type = value.type
        self.bytes = bytes
    }

    private init(_ path: FieldPath, otherThan places: [[UInt8]]) {
        self.path = path
        test = .otherThan(places)
        type = .null
        bytes = []
    }

    private static func orderBytes(_ value: Value) -> [UInt8]? {
        try? EncodedValue(value).orderBytes()
    }
}

extension Condition {
    /// Restricts ranges of order bytes to entries that can meet the condition, in the segment after
    /// a prefix common to all ranges.
    func restrict(_ ranges: [KeyRange], behind prefix: [UInt8], isDescending: Bool)
        throws(LarderError) -> [KeyRange]
    {
        func ends(_ bytes: [UInt8]) -> [UInt8] {
            prefix + (isDescending ? bytes.complement : bytes)
        }
        func edge(_ edge: EncodedValue.TypeEdge, _ type: ValueType) throws(LarderError) -> [UInt8] {
            prefix + (try EncodedValue.orderBytes(edge, type, isDescending: isDescending))
        }
        switch test {
        case .equal, .contains:
            let place = KeyRange(prefix: ends(bytes))
            return ranges.map { $0.intersection(place) }.filter { !$0.isEmpty }
        case .below(let isInclusive), .above(let isInclusive):
            var isBelow = isDescending
            if case .below = test { isBelow.toggle() }
            var allowed = KeyRange(
                low: try edge(.before, type), high: try edge(.after, type))
            let place = KeyRange(prefix: ends(bytes))
            switch (isBelow, isInclusive) {
            case (true, true): allowed.high = place.high
            case (true, false): allowed.high = place.low
            case (false, true): allowed.low = place.low
            case (false, false): allowed.low = place.high ?? place.low
            }
            if case .below = test, type == .integer || type == .double {
                // NaN sorts below all numbers but is not less than any.
                let nan = KeyRange(
                    prefix: ends(try EncodedValue(.double(.nan)).orderBytes()))
                if isDescending {
                    allowed.high = nan.low
                } else {
                    allowed.low = nan.high ?? nan.low
                }
            }
            return ranges.map { $0.intersection(allowed) }.filter { !$0.isEmpty }
        case .otherThan(let places):
            // Null is the minimum: a single range remains after exclusions.
            let allowed =
                isDescending
                ? KeyRange(low: [], high: try edge(.before, .null))
                : KeyRange(low: try edge(.after, .null), high: nil)
            var ranges = ranges.map { $0.intersection(allowed) }.filter { !$0.isEmpty }
            for place in places.map({ KeyRange(prefix: ends($0)) }) where place.isExact {
                ranges = ranges.flatMap { $0.subtracting(place) }
            }
            return ranges
        }
    }
}

// MARK: - Document IDs

/// A condition on the document ID that a look-up or range can answer.
enum DocumentIDCondition: Sendable, Hashable {
    case oneOf([DocumentPath])
    case below(DocumentPath, isInclusive: Bool)
    case above(DocumentPath, isInclusive: Bool)

    /// The condition of a filter on the document ID; nil if planning does not support it.
    init?(_ filter: FieldFilter) {
        if case .in = filter.op, case .array(let values) = filter.value {
            // References to other databases equal no document ID.
            self = .oneOf(values.compactMap(\.referencedDocument))
            return
        }
        guard let name = filter.value.referencedDocument else { return nil }
        switch filter.op {
        case .equal: self = .oneOf([name])
        case .lessThan: self = .below(name, isInclusive: false)
        case .lessThanOrEqual: self = .below(name, isInclusive: true)
        case .greaterThan: self = .above(name, isInclusive: false)
        case .greaterThanOrEqual: self = .above(name, isInclusive: true)
        case .notEqual, .notIn, .in, .arrayContains, .arrayContainsAny: return nil
        }
    }
}
