import Foundation
import LarderModel

/// The test of `==` `<` `<=` `>` `>=` on a field: of the value's type, and placed as accepted.
///
/// NaN sorts below all numbers and is less than none.
///
/// A class, so that the loop over a query's tests holds one reference and copies nothing.
final class ComparisonTest: Sendable {
    private let field: PreparedField
    private let value: EncodedValue
    private let accepted: AcceptedOrders
    /// The least number that may match; nil where every value of an accepted place matches.
    private let least: EncodedValue?

    init(_ field: PreparedField, _ value: Value, _ accepted: AcceptedOrders) throws(LarderError) {
        self.field = field
        self.value = try EncodedValue(value)
        self.accepted = accepted
        least =
            value.isNumber && accepted.contains(.below)
            ? try EncodedValue(.double(-.infinity)) : nil
    }

    func matches(_ record: borrowing RecordView) throws(LarderError) -> Bool {
        guard let order = try record.compareWithinType(field, to: value) else { return false }
        guard accepted.accepts(order), order == .orderedAscending, let least else {
            return accepted.accepts(order)
        }
        return try record.compareWithinType(field, to: least) != .orderedAscending
    }
}

/// The outcomes of a comparison that satisfy a condition.
struct AcceptedOrders: OptionSet, Sendable {
    let rawValue: UInt8

    static let below = AcceptedOrders(rawValue: 1)
    static let same = AcceptedOrders(rawValue: 2)
    static let above = AcceptedOrders(rawValue: 4)

    /// The outcomes that a comparison operator accepts; nil for other operators.
    init?(_ op: FieldFilter.Operator) {
        switch op {
        case .lessThan: self = .below
        case .lessThanOrEqual: self = [.below, .same]
        case .equal: self = .same
        case .notEqual: self = [.below, .above]
        case .greaterThan: self = .above
        case .greaterThanOrEqual: self = [.above, .same]
        case .arrayContains, .arrayContainsAny, .in, .notIn: return nil
        }
    }

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    func accepts(_ order: ComparisonResult) -> Bool {
        rawValue & (1 &<< UInt8(truncatingIfNeeded: order.rawValue &+ 1)) != 0
    }
}

extension ComparisonResult {
    /// The outcome with both sides exchanged.
    var reversed: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedSame: .orderedSame
        case .orderedDescending: .orderedAscending
        }
    }
}

/// The values of a filter's list, to find one of the same place among many in logarithmic time.
///
/// Null and NaN are left out: no value counts as equal to them.
struct EncodedValueSet: Sendable {
    /// In Firestore's order; those of one place, such as 1 and 1.0, in any.
    private let values: [EncodedValue]

    init(_ values: [Value]) throws(LarderError) {
        let builder = try RecordBuilder()
        var encoded: [EncodedValue] = []
        for value in Set(values) where !value.isNullOrNaN {
            encoded.append(try builder.encode(value))
        }
        self.values = encoded.sorted { $0.compare(to: $1) == .orderedAscending }
    }

    /// True if one of them has the place of the value in Firestore's order.
    func contains(_ value: borrowing ValueView) -> Bool {
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            switch value.compare(to: values[middle]) {
            case .orderedAscending: high = middle
            case .orderedSame: return true
            case .orderedDescending: low = middle + 1
            }
        }
        return false
    }

    /// True if an element of an array has the place of one; not for a value of another type.
    func containsElement(of array: borrowing ValueView) -> Bool {
        var isFound = false
        array.forEachElement { element in
            isFound = contains(element)
            return isFound ? .stop : .continue
        }
        return isFound
    }
}
