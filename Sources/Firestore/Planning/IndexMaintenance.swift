package import LarderDocumentStore
package import LarderModel

/// Defines, fills and drops the indexes of a store, in bounded steps.
///
/// Every call blocks for a write. Call ``step(maxDocuments:maxMicroseconds:)`` again and again,
/// with other writes in between, until nothing is left to do; what was begun goes on after the
/// store was closed and opened.
package struct IndexMaintenance: Sendable {
    /// What a step did, and what is left.
    package struct Step: Sendable, Hashable {
        /// Whether nothing is left to do.
        package let isComplete: Bool
        /// The index that was filled, and how far; nil where none was.
        package let filled: Progress?
    }

    /// How far filling an index has come.
    package struct Progress: Sendable, Hashable {
        /// The index.
        package let definition: IndexDefinition
        /// Documents looked at so far.
        package let doneCount: Int64
        /// Documents to look at in all.
        package let totalCount: Int64
    }

    /// Documents that a step looks at, where the caller does not say.
    package static let defaultMaxDocuments: Int64 = 500
    /// Processor time that a step takes, where the caller does not say.
    package static let defaultMaxMicroseconds: Int64 = 2000

    private let store: Store

    /// Looks after the indexes of a store.
    package init(store: Store) {
        self.store = store
    }

    /// Replaces the set of indexes: equal ones stay as they are, with their entries; others are
    /// dropped, automatic ones, too; new ones are defined, to be filled.
    ///
    /// - Throws: `invalidArgument` for an index that the store refuses; nothing is then changed.
    package func configure(_ configuration: IndexConfiguration) throws(LarderError) {
        let wanted = Set(configuration.indexes)
        try store.write { transaction throws(LarderError) in
            for index in try transaction.indexes() where !wanted.contains(index.definition) {
                // No query uses it from here on; its entries go step by step.
                _ = try transaction.dropIndex(index.id, maxEntries: 1)
            }
            for definition in configuration.indexes {
                _ = try transaction.defineIndex(definition)
            }
        }
    }

    /// Adds indexes to those that are there.
    package func add(_ definitions: [IndexDefinition]) throws(LarderError) {
        guard !definitions.isEmpty else { return }
        try store.write { transaction throws(LarderError) in
            for definition in definitions { _ = try transaction.defineIndex(definition) }
        }
    }

    /// All indexes, with how far each is filled.
    package func indexes() throws(LarderError) -> [IndexInfo] {
        try store.read { transaction throws(LarderError) in try transaction.indexes() }
    }

    /// Does one bounded share of what is to be done, in one write: goes on with dropping, or
    /// else fills the first index that is not complete.
    ///
    /// - Parameters:
    ///   - maxDocuments: documents to look at, or entries to drop; 0 for no bound.
    ///   - maxMicroseconds: processor time to take for filling; 0 for no bound.
    package func step(
        maxDocuments: Int64 = defaultMaxDocuments,
        maxMicroseconds: Int64 = defaultMaxMicroseconds
    ) throws(LarderError) -> Step {
        try store.write { transaction throws(LarderError) in
            // 0 stands for whatever is half dropped.
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
