import Foundation
import LarderModel

/// The values of a filter's list, to find an equal one among many in logarithmic time.
struct EncodedValueSet: Sendable {
    /// In Firestore's order; those of one place, such as 1 and 1.0, in any.
    private let values: [EncodedValue]

    init(_ values: [Value]) throws(LarderError) {
        let builder = try RecordBuilder()
        var encoded: [EncodedValue] = []
        for value in Set(values) { encoded.append(try builder.encode(value)) }
        self.values = encoded.sorted { $0.compare(to: $1) == .orderedAscending }
    }

    /// Whether one of them equals the value, by Firestore's equality.
    func contains(_ value: borrowing ValueView) -> Bool {
        // Equality tells most values apart sooner than their order does.
        guard values.count > 8 else {
            for candidate in values where value.isEqual(to: candidate) { return true }
            return false
        }
        var (low, high) = (0, values.count)
        while low < high {
            let middle = (low + high) / 2
            if value.compare(to: values[middle]) == .orderedDescending {
                low = middle + 1
            } else {
                high = middle
            }
        }
        while low < values.count {
            if value.isEqual(to: values[low]) { return true }
            guard value.compare(to: values[low]) == .orderedSame else { return false }
            low += 1
        }
        return false
    }

    /// Whether an element of an array equals one of them; not for a value of another type.
    func containsElement(of array: borrowing ValueView) -> Bool {
        var isFound = false
        array.forEachElement { element in
            isFound = contains(element)
            return isFound ? .stop : .continue
        }
        return isFound
    }
}
