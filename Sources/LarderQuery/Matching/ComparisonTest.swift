import LarderModel

/// The test of `==` `<` `<=` `>` `>=` on a field: of the value's type, and placed as accepted.
///
/// A class, so that the loop over a query's tests holds one reference and copies nothing.
final class ComparisonTest: Sendable {
    private let field: PreparedField
    private let value: EncodedValue
    private let accepted: AcceptedOrders

    init(_ field: PreparedField, _ value: EncodedValue, _ accepted: AcceptedOrders) {
        self.field = field
        self.value = value
        self.accepted = accepted
    }

    func matches(_ record: borrowing RecordView) throws(LarderError) -> Bool {
        guard let order = try record.compareWithinType(field, to: value) else { return false }
        return accepted.accepts(order)
    }
}
