package import LarderModel
package import LarderQuery

/// A query that a bundle brought, under its name.
package struct NamedQuery: Sendable {
    /// The name.
    package let name: String
    /// The query.
    package let query: Query
    /// The snapshot of the backend that the bundle has the query's documents of.
    package let readTime: SnapshotVersion

    /// A query under a name.
    package init(name: String, query: Query, readTime: SnapshotVersion) {
        self.name = name
        self.query = query
        self.readTime = readTime
    }
}
