import LarderDocumentStore

/// How a query was answered, and what that took.
package struct QueryExecution: Sendable {
    /// A plan that was thought of, with its estimated cost.
    package struct Alternative: Sendable, Hashable {
        /// The plan, as a tree, a node a line.
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

    private let plan: QueryPlan
    private let candidates: [Planner.Candidate]
    /// Whether the matches were counted without reading documents.
    private let countsOnly: Bool

    /// What running a plan is about to take.
    init(_ choice: Planner.Choice, kind: Kind? = nil, countsOnly: Bool = false) {
        self.kind = kind ?? choice.plan.kind
        plan = choice.plan
        candidates = choice.candidates
        self.countsOnly = countsOnly
    }

    /// The kind of the plan.
    package let kind: Kind

    /// The plan as a tree, a node a line.
    package var description: String {
        if kind == .collectionCount { return "collection count, kept by the store" }
        return plan.text() + (countsOnly ? "\ncounted without reading documents" : "")
    }

    /// The indexes that were scanned, as their definitions' text.
    package var indexes: [String] { plan.indexes.map(\.definition.text) }

    /// The plans that were thought of, the chosen one first.
    package var considered: [Alternative] {
        candidates.enumerated().map { position, candidate in
            Alternative(
                description: candidate.plan.text(), cost: candidate.cost,
                isChosen: position == 0)
        }
    }

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

    /// Adds what another run for the same answer took.
    mutating func add(_ other: QueryExecution) {
        documentsScanned += other.documentsScanned
        documentsReturned += other.documentsReturned
        indexEntriesScanned += other.indexEntriesScanned
        bytesRead += other.bytesRead
    }
}
