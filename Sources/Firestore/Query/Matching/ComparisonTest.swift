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
