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

/// Figures over the documents that a query matched.
package struct AggregateResult: Sendable {
    /// Each aggregate's figure: an integer for a count, null for an average, minimum or maximum
    /// of nothing, integer 0 for a sum of nothing.
    package let values: [Aggregate: Value]
    /// How they were found.
    package internal(set) var execution: QueryExecution
}
