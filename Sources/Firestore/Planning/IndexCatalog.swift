import LarderDocumentStore
import LarderModel
import Synchronization

/// What is known of a store's indexes, kept from one query to the next.
///
/// Any thread may use it. A read transaction of a commit that was asked about before costs no
/// look at the store; another commit, of this process or another, is read anew.
package final class IndexCatalog: Sendable {
    private struct State {
        var commitNumber: UInt64?
        var indexes: [String: [IndexInfo]] = [:]
    }

    private let state = Mutex(State())

    /// A catalogue that knows nothing yet.
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
            // An older reader does not take away what a newer one has learned.
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
