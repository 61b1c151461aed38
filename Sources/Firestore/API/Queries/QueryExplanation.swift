public import LarderModel
import LarderPlanning
import LarderSync

/// How a query was answered from the cache, and what that took.
public struct QueryExplanation: Sendable, Hashable, CustomStringConvertible {
    /// A plan that was thought of.
    public struct Alternative: Sendable, Hashable {
        /// The plan in words.
        public let plan: String
        /// Its estimated cost; reading and testing one document in a scan is 1.
        public let cost: Double
        /// Whether it is the one that ran.
        public let isChosen: Bool
    }

    /// The kind of the plan, such as `index scan` or `collection scan`.
    public let kind: String
    /// The plan as a tree, a node a line.
    public let plan: String
    /// The indexes that were used.
    public let indexes: [String]
    /// The plans that were thought of, the one that ran included.
    public let alternatives: [Alternative]
    /// Documents that were read and tested.
    public let documentsScanned: Int
    /// Documents that matched.
    public let documentsReturned: Int
    /// Index entries that were passed over.
    public let indexEntriesScanned: Int
    /// What the documents that were read occupy in the store, in bytes.
    public let bytesRead: Int64
    /// The time it took, planning included.
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

    /// The plan, and below it the figures on one line.
    public var description: String {
        """
        \(plan)
        \(documentsScanned) documents scanned, \(documentsReturned) returned, \
        \(indexEntriesScanned) index entries, \(bytesRead) bytes, \(microseconds) microseconds
        """
    }
}

// MARK: - Explaining

extension Query {
    /// Runs the query on the cache, and tells how: the plan, the indexes, what was read.
    ///
    /// On the calling thread, once this object's earlier writes are committed.
    ///
    /// - Throws: `invalidArgument` for an invalid query; what the store reports.
    public nonisolated(nonsending) func explain() async throws(LarderError) -> QueryExplanation {
        try await firestore.read(place) { client throws(LarderError) in
            QueryExplanation(try client.run(try executable.get()).execution)
        }
    }
}
