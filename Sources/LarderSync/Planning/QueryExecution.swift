/// How a query was answered, and what that took.
package struct QueryExecution: Sendable {
    /// A plan that was thought of, with its estimated cost.
    package struct Alternative: Sendable, Hashable {
        /// The plan, in words, on one line.
        package let description: String
        /// The estimated cost; reading and testing one document in a scan is 1.
        package let cost: Double
        /// Whether it is the plan that ran.
        package let isChosen: Bool
    }

    /// The kind of a plan at its top.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Proved to match nothing without reading anything.
        case nothing
        /// Documents by their names.
        case documentLookup = "document look-up"
        /// A range of names.
        case nameRange = "name range"
        /// Ranges of one index.
        case indexScan = "index scan"
        /// Several scans joined.
        case union
        /// What several index scans have in common.
        case intersection
        /// The documents that a target is known to have.
        case targetDocuments = "target documents"
        /// All documents of a collection.
        case collectionScan = "collection scan"
        /// All documents of a collection group.
        case groupScan = "group scan"
        /// The count that is kept for a collection.
        case collectionCount = "collection count"
    }

    /// The kind of the plan.
    package internal(set) var kind: Kind
    /// The plan as a tree, a node a line.
    package internal(set) var description: String
    /// The indexes that were scanned, as their definitions' text.
    package internal(set) var indexes: [String] = []
    /// The plans that were thought of, the chosen one included.
    package internal(set) var considered: [Alternative] = []
    /// Documents that were read and tested.
    package internal(set) var documentsScanned = 0
    /// Documents that matched and were given.
    package internal(set) var documentsReturned = 0
    /// Index entries that were passed over.
    package internal(set) var indexEntriesScanned = 0
    /// What the rows of the documents that were read occupy in the store.
    package internal(set) var bytesRead: Int64 = 0
    /// The time from the beginning of planning to the end.
    package internal(set) var microseconds: Int64 = 0
}
