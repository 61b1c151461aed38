package import LarderDocumentStore
package import LarderModel
import Synchronization

/// Defines, backfills and drops the indexes of a store, in bounded steps.
///
/// Every call blocks for a write. Call ``step(maxDocuments:maxMicroseconds:)`` repeatedly, with
/// other writes in between, until no work is left; unfinished work continues after the store was
/// closed and reopened.
package struct IndexMaintenance: Sendable {
    package struct Step: Sendable, Hashable {
        /// True if no work is left.
        package let isComplete: Bool
        /// The progress of the index that was backfilled, if any.
        package let filled: Progress?
    }

    /// The progress of backfilling an index.
    package struct Progress: Sendable, Hashable {
        package let definition: IndexDefinition
        /// Documents examined so far.
        package let doneCount: Int64
        /// Documents to examine in total.
        package let totalCount: Int64
    }

    /// The default number of documents that a step examines.
    package static let defaultMaxDocuments: Int64 = 500
    /// The default processor time of a step.
    package static let defaultMaxMicroseconds: Int64 = 2000

    private let store: Store

    package init(store: Store) {
        self.store = store
    }

    /// Replaces the set of indexes: equal ones are kept with their entries; others, including
    /// automatic ones, are dropped; new ones are defined and then backfilled.
    ///
    /// - Throws: `invalidArgument` for an index that the store rejects, without any change.
    package func configure(_ configuration: IndexConfiguration) throws(LarderError) {
        let wanted = Set(configuration.indexes)
        try store.write { transaction throws(LarderError) in
            for index in try transaction.indexes() where !wanted.contains(index.definition) {
                // Queries no longer use it; its entries are removed step by step.
                _ = try transaction.dropIndex(index.id, maxEntries: 1)
            }
            for definition in configuration.indexes {
                _ = try transaction.defineIndex(definition)
            }
        }
    }

    package func add(_ definitions: [IndexDefinition]) throws(LarderError) {
        guard !definitions.isEmpty else { return }
        try store.write { transaction throws(LarderError) in
            for definition in definitions { _ = try transaction.defineIndex(definition) }
        }
    }

    /// All indexes, with their backfill progress.
    package func indexes() throws(LarderError) -> [IndexInfo] {
        try store.read { transaction throws(LarderError) in try transaction.indexes() }
    }

    /// Does one bounded step of work in one write: continues dropping, or else backfills the first
    /// incomplete index.
    ///
    /// - Parameters:
    ///   - maxDocuments: the number of documents to examine, or entries to drop; 0 for no limit.
    ///   - maxMicroseconds: the processor time for backfilling; 0 for no limit.
    package func step(
        maxDocuments: Int64 = defaultMaxDocuments,
        maxMicroseconds: Int64 = defaultMaxMicroseconds
    ) throws(LarderError) -> Step {
        try store.write { transaction throws(LarderError) in
            // 0 continues an unfinished drop.
            guard try transaction.dropIndex(0, maxEntries: maxDocuments) else {
                return Step(isComplete: false, filled: nil)
            }
            let incomplete = try transaction.indexes().filter { !$0.isComplete }
            guard let index = incomplete.first else { return Step(isComplete: true, filled: nil) }
            let progress = try transaction.backfillIndex(
                index.id, maxDocuments: maxDocuments, maxMicroseconds: maxMicroseconds)
            return Step(
                isComplete: progress.isComplete && incomplete.count == 1,
                filled: Progress(
                    definition: index.definition, doneCount: progress.doneCount,
                    totalCount: progress.totalCount))
        }
    }
}

/// A cache of a store's indexes between queries.
///
/// Thread-safe. A read transaction of a cached commit does not access the store; the indexes of
/// another commit, by this or another process, are read again.
package final class IndexCatalog: Sendable {
    private struct State {
        var commitNumber: UInt64?
        var indexes: [String: [IndexInfo]] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The complete indexes of a collection group, as a transaction sees them.
    func completeIndexes<T: ReadableTransaction & ~Copyable>(
        ofGroup group: String, in transaction: borrowing T
    ) throws(LarderError) -> [IndexInfo] {
        guard !transaction.isWritable else {
            return try Self.read(transaction)[group] ?? []
        }
        let commit = transaction.commitNumber
        let known: [IndexInfo]?? = state.withLock {
            $0.commitNumber == commit ? .some($0.indexes[group]) : nil
        }
        if let known { return known ?? [] }
        let indexes = try Self.read(transaction)
        state.withLock {
            // An older snapshot does not replace a newer one.
            guard commit >= $0.commitNumber ?? 0 else { return }
            $0 = State(commitNumber: commit, indexes: indexes)
        }
        return indexes[group] ?? []
    }

    private static func read<T: ReadableTransaction & ~Copyable>(
        _ transaction: borrowing T
    ) throws(LarderError) -> [String: [IndexInfo]] {
        Dictionary(
            grouping: try transaction.indexes().filter(\.isComplete),
            by: \.definition.collectionGroup)
    }
}
