import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote

/// A view that is compared with the store.
struct ShownView {
    let id: ViewID
    let view: View
    let targetID: Int32?
}

/// The state of a store that differs from that of the views.
struct StoreState {
    let commit: UInt64
    let clients: [ClientRow<Int32>]
    let network: NetworkState?
    private(set) var changes: [LocalChange] = []
    private var targetChanges: [ViewID: View.TargetChange] = [:]
    /// Targets whose state another client has removed from the store.
    private(set) var forgottenTargets: [Int32] = []

    init(commit: UInt64, clients: [ClientRow<Int32>], network: NetworkState?) {
        self.commit = commit
        self.clients = clients
        self.network = network
    }

    /// The changes of the views' targets; without a connection none is current.
    func targets(isCutOff: Bool) -> [ViewID: View.TargetChange] {
        targetChanges.mapValues { change in
            var change = change
            change.isCurrent = change.isCurrent && !isCutOff
            return change
        }
    }

    /// A token that is missing in the store was removed: it is stored as soon as there is one.
    mutating func compare<T: ReadableTransaction & ~Copyable>(
        _ data: TargetData, _ id: Int32, in transaction: borrowing T
    ) throws(LarderError) {
        guard !data.resumeToken.isEmpty, let stored = try transaction.target(id),
            stored.resumeToken.isEmpty
        else { return }
        forgottenTargets.append(id)
    }

    mutating func compare<T: ReadableTransaction & ~Copyable>(
        _ shown: ShownView, running runner: QueryRunner, of user: UserID,
        in transaction: borrowing T
    ) throws(LarderError) {
        changes += try shown.view.changes(to: transaction, running: runner, of: user)
        guard let id = shown.targetID else { return }
        let keys = try transaction.remoteKeys(of: id)
        targetChanges[shown.id] = View.TargetChange(
            added: Array(keys.subtracting(shown.view.syncedDocuments)),
            removed: Array(shown.view.syncedDocuments.subtracting(keys)),
            isCurrent: try transaction.isCurrent(target: id))
    }
}
