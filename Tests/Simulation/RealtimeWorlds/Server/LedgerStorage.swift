import LarderRealtimeBackend
import LarderRealtimeModel
import SimulationSupport

/// Storage of a world's backend: a tree in memory that can refuse commits.
final class LedgerStorage: TreeStorage, @unchecked Sendable {
    // One thread runs a world.

    private let ledger: TreeLedger
    private let journal: Journal
    private var stored: [String: Node] = [:]
    /// True if commits are refused.
    var isFailing = false

    init(ledger: TreeLedger, journal: Journal) {
        (self.ledger, self.journal) = (ledger, journal)
    }

    func trees() throws(LarderError) -> [String: Node] { stored }

    func commit(_ values: PathTree<Node>, to namespace: String) throws(LarderError) {
        if isFailing {
            journal.note(.storageFailure)
            ledger.turnFailed()
            throw LarderError(realtime: .unavailable, "the server's disk refuses")
        }
        var tree = stored[namespace] ?? .empty
        if let root = values.value { tree = root }
        var nodes: [PathValue] = []
        values.forEach { path, node in
            if !path.isEmpty { nodes.append(PathValue(path, node)) }
        }
        if !nodes.isEmpty { tree = tree.setting(nodes) }
        stored[namespace] = tree
        ledger.turnCommitted(tree)
    }

    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        completion(.success(()))
    }
}
