import Foundation
import LarderModel

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

    /// Whether one of them has the place of the value in Firestore's order.
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

    /// Whether an element of an array has the place of one; not for a value of another type.
    func containsElement(of array: borrowing ValueView) -> Bool {
        var isFound = false
        array.forEachElement { element in
            isFound = contains(element)
            return isFound ? .stop : .continue
        }
        return isFound
    }
}
