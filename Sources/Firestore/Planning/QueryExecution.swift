import LarderDocumentStore
package import LarderModel

/// The execution of a query: its plan and its cost.
package struct QueryExecution: Sendable {
    /// A candidate plan with its estimated cost.
    package struct Alternative: Sendable, Hashable {
        /// The plan as a tree, one node per line.
        package let description: String
        /// The estimated cost; reading and testing one document in a scan is 1.
        package let cost: Double
        /// True if it is the plan that ran.
        package let isChosen: Bool
    }

    /// The kind of a plan's top node.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Proved empty without reading anything.
        case nothing
        case documentLookup = "document look-up"
        case nameRange = "name range"
        case indexScan = "index scan"
        /// A union of several scans.
        case union
        /// The intersection of several index scans.
        case intersection
        case targetDocuments = "target documents"
        case collectionScan = "collection scan"
        /// All documents of a collection group.
        case groupScan = "group scan"
        case collectionCount = "collection count"
    }

    private let plan: QueryPlan
    private let candidates: [Planner.Candidate]
    /// True if the matches were counted without reading documents.
    private let countsOnly: Bool

    /// The execution of a plan, before it runs.
    init(_ choice: ChosenPlan, kind: Kind? = nil, countsOnly: Bool = false) {
        self.kind = kind ?? choice.plan.kind
        plan = choice.plan
        candidates = choice.candidates
        self.countsOnly = countsOnly
    }

    package let kind: Kind

    /// The plan as a tree, one node per line.
    package var description: String {
        if kind == .collectionCount { return "collection count, maintained by the store" }
        return plan.text() + (countsOnly ? "\ncounted without reading documents" : "")
    }

    package var indexes: [String] { plan.indexes.map(\.definition.text) }

    /// The fields of each index, as in `(state ASC, population DESC, __name__ ASC)`.
    package var indexProperties: [String] { plan.indexes.map(\.definition.properties) }

    /// The candidate plans, the chosen one first.
    package var considered: [Alternative] {
        candidates.enumerated().map { position, candidate in
            Alternative(
                description: candidate.plan.text(), cost: candidate.cost,
                isChosen: position == 0)
        }
    }

    /// The number of documents read and tested.
    package internal(set) var documentsScanned = 0
    /// The number of documents returned.
    package internal(set) var documentsReturned = 0
    /// The number of index entries scanned.
    package internal(set) var indexEntriesScanned = 0
    /// The stored size of the documents read.
    package internal(set) var bytesRead: Int64 = 0
    /// The time from the start of planning to the end.
    package internal(set) var microseconds: Int64 = 0

    /// Adds the cost of another run for the same result.
    mutating func add(_ other: QueryExecution) {
        documentsScanned += other.documentsScanned
        documentsReturned += other.documentsReturned
        indexEntriesScanned += other.indexEntriesScanned
        bytesRead += other.bytesRead
    }
}

package struct QueryResult: Sendable {
    package let documents: [Document]
    package let execution: QueryExecution

    package init(documents: [Document], execution: QueryExecution) {
        self.documents = documents
        self.execution = execution
    }
}
