package import LarderModel
package import LarderQuery

/// Figures over the documents that a query matched.
package struct AggregateResult: Sendable {
    /// Each aggregate's figure: an integer for a count, null for an average, minimum or maximum
    /// of nothing, integer 0 for a sum of nothing.
    package let values: [Aggregate: Value]
    /// How they were found.
    package internal(set) var execution: QueryExecution
}
