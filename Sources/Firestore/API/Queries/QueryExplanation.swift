public import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync

/// The execution of a query on the cache: plan, alternatives and cost.
public struct QueryExplanation: Sendable, Hashable, CustomStringConvertible {
    /// A plan that was considered.
    public struct Alternative: Sendable, Hashable {
        /// The plan as text.
        public let plan: String
        /// The estimated cost; reading and filtering one document in a scan costs 1.
        public let cost: Double
        /// Whether the plan was executed.
        public let isChosen: Bool
    }

    /// The kind of the plan, such as `index scan` or `collection scan`.
    public let kind: String
    /// The plan as a tree, one node per line.
    public let plan: String
    /// The indexes used.
    public let indexes: [String]
    /// The plans considered, including the executed one.
    public let alternatives: [Alternative]
    /// The number of documents read and filtered.
    public let documentsScanned: Int
    /// The number of matching documents.
    public let documentsReturned: Int
    /// The number of index entries read.
    public let indexEntriesScanned: Int
    /// The stored size of the documents read, in bytes.
    public let bytesRead: Int64
    /// The time taken, including planning, in microseconds.
    public let microseconds: Int64

    init(_ execution: QueryExecution) {
        kind = execution.kind.rawValue
        plan = execution.description
        indexes = execution.indexes
        alternatives = execution.considered.map {
            Alternative(plan: $0.description, cost: $0.cost, isChosen: $0.isChosen)
        }
        documentsScanned = execution.documentsScanned
        documentsReturned = execution.documentsReturned
        indexEntriesScanned = execution.indexEntriesScanned
        bytesRead = execution.bytesRead
        microseconds = execution.microseconds
    }

    /// The plan, followed by a line of counters.
    public var description: String {
        """
        \(plan)
        \(documentsScanned) \(documentsScanned == 1 ? "document" : "documents") scanned, \
        \(documentsReturned) returned, \
        \(indexEntriesScanned) index \(indexEntriesScanned == 1 ? "entry" : "entries"), \
        \(bytesRead) bytes, \(microseconds) microseconds
        """
    }
}

// MARK: - Explaining

extension Query {
    /// Runs the query on the cache and reports the plan, the indexes used and the amount of data
    /// read.
    ///
    /// Runs on the calling thread, once this instance's earlier writes are committed locally.
    ///
    /// - Throws: `invalidArgument` for an invalid query; errors of the store.
    public nonisolated(nonsending) func explain() async throws(LarderError) -> QueryExplanation {
        try await firestore.read(place) { client throws(LarderError) in
            QueryExplanation(try client.run(try selection.get().queryWithOffset).execution)
        }
    }
}
