import LarderRealtimeBackend
import LarderRealtimeModel
import SimulationSupport

/// Storage of a world's backend: trees and records in memory that can refuse commits.
final class LedgerStorage: TreeStorage, @unchecked Sendable {
    // One thread runs a world.

    private let ledger: TreeLedger
    private let journal: Journal
    private var stored: [String: StoredTree] = [:]
    /// True if commits are refused.
    var isFailing = false

    init(ledger: TreeLedger, journal: Journal) {
        (self.ledger, self.journal) = (ledger, journal)
    }

    func trees() throws(LarderError) -> [String: StoredTree] { stored }

    func commit(_ changes: TreeCommit, to namespace: String) throws(LarderError) {
        if isFailing {
            journal.note(.storageFailure)
            ledger.turnFailed()
            throw LarderError(realtime: .unavailable, "the server's disk refuses")
        }
        stored[namespace, default: StoredTree()].apply(changes)
        ledger.turnCommitted(stored[namespace]?.tree ?? .empty)
    }

    /// Loses the names of clients' writes, as an export and import of the trees does.
    func forgetNames() {
        for (namespace, tree) in stored {
            let records = tree.records.filter { $0.key.kind != .client && $0.key.kind != .names }
            stored[namespace] = StoredTree(tree.tree, records: records)
        }
    }

    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        completion(.success(()))
    }
}
