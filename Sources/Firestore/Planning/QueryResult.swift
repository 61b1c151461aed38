package import LarderModel

/// What a query found.
package struct QueryResult: Sendable {
    /// The documents in the query's order, its limit applied.
    package let documents: [Document]
    /// How they were found.
    package let execution: QueryExecution
}
