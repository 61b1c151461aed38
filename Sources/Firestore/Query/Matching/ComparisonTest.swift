import Foundation
import LarderModel

/// The test of a field with `==` `<` `<=` `>` `>=`: for the operand's type and an accepted order.
///
/// NaN sorts below all numbers but is not less than any.
///
/// A class, so that the loop over a query's tests retains one reference and copies nothing.
final class ComparisonTest: Sendable {
    private let field: PreparedField
    private let value: EncodedValue
    private let accepted: AcceptedOrders
    /// The least number that may match; nil if every value in an accepted order matches.
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
    /// The outcome with the sides exchanged.
    var reversed: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedSame: .orderedSame
        case .orderedDescending: .orderedAscending
        }
    }
}

/// The values of a filter's list, with logarithmic look-up by position in Firestore's order.
///
/// Null and NaN are omitted: no value equals them.
struct EncodedValueSet: Sendable {
    /// In Firestore's order; equivalent values, such as 1 and 1.0, in any order.
    private let values: [EncodedValue]

    init(_ values: [Value]) throws(LarderError) {
        let builder = try RecordBuilder()
        self.values = try Set(values.filter { !$0.isNullOrNaN }).map(builder.encode)
            .sorted { $0.compare(to: $1) == .orderedAscending }
    }

    /// Whether one of them is equivalent to the value in Firestore's order.
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

    /// Whether an element of an array is equivalent to one of them; false for other types.
    func containsElement(of array: borrowing ValueView) -> Bool {
        var isFound = false
        array.forEachElement { element in
            isFound = contains(element)
            return isFound ? .stop : .continue
        }
        return isFound
    }
}
