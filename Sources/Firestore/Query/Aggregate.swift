package import LarderModel

/// A figure over the documents that a query matches.
package enum Aggregate: Hashable, Sendable {
    /// How many documents match.
    case count
    /// The sum of a field's numbers; what is no number does not count.
    case sum(FieldPath)
    /// The average of a field's numbers; what is no number does not count.
    case average(FieldPath)
    /// A field's first value in Firestore's order.
    case minimum(FieldPath)
    /// A field's last value in Firestore's order.
    case maximum(FieldPath)

    /// The field; nil for ``count``.
    package var path: FieldPath? {
        switch self {
        case .count: nil
        case .sum(let path), .average(let path), .minimum(let path), .maximum(let path): path
        }
    }
}
