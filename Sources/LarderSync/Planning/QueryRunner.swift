package import LarderModel
package import LarderQuery
package import LarderStorage

/// Answers queries from a store, in the local view of a user.
///
/// Blocks its thread while it reads. A value: any threads may use copies at once.
package struct QueryRunner: Sendable {
    /// Whose pending writes are in the answers.
    package let user: UserID
    /// The database that references are of.
    package let databaseID: DatabaseID
    let indexes: IndexCatalog

    /// Answers for a user.
    ///
    /// - Parameters:
    ///   - user: whose pending writes are in the answers.
    ///   - databaseID: the database that references are of.
    ///   - indexes: what is known of the store's indexes; share one for each store.
    package init(user: UserID, databaseID: DatabaseID, indexes: IndexCatalog) {
        self.user = user
        self.databaseID = databaseID
        self.indexes = indexes
    }

    /// The documents that a query matches, in its order, its limit applied.
    ///
    /// - Throws: `dataLoss` for a damaged row, naming the document.
    package func run<T: ReadableTransaction & ~Copyable>(
        _ query: Query, in transaction: borrowing T
    ) throws(LarderError) -> QueryResult {
        throw LarderError(.unimplemented, "queries are not planned yet")
    }

    /// Figures over the documents that a query matches, its limit and cursors applied.
    ///
    /// - Throws: `dataLoss` for a damaged row, naming the document.
    package func aggregate<T: ReadableTransaction & ~Copyable>(
        _ aggregates: [Aggregate], over query: Query, in transaction: borrowing T
    ) throws(LarderError) -> AggregateResult {
        throw LarderError(.unimplemented, "aggregates are not planned yet")
    }
}
