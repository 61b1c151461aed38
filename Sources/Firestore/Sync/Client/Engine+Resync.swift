import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension Engine {
    /// Brings everything up to date with the store as it is, whatever led there: a client has
    /// missed what others told.
    func resync() throws(LarderError) {
        guard let membership else { return }
        try localStore.begin(.readNewChanges)
        let (shown, runner, user) = (shownViews, session.runner, session.user)
        let known = isPrimary ? targets.data : [:]
        let state = try store.read { (transaction) throws(LarderError) in
            var state = StoreState(
                commit: transaction.commitNumber, clients: try transaction.clients(),
                network: try transaction.sharedNetworkState())
            for view in shown {
                try state.compare(view, running: runner, of: user, in: transaction)
            }
            for (id, data) in known { try state.compare(data, id, in: transaction) }
            return state
        }
        self.membership?.heardCommit = max(membership.heardCommit, state.commit)
        self.membership?.loadedCommits = [:]
        self.membership?.staleViews.formUnion(views.loadingViews)
        try settleLeftBatches()
        if !isPrimary {
            askPrimaryAgain()
            if let network = state.network { apply(network) }
        }
        finish(
            views.apply(
                state.changes, knowsFormerStates: false,
                targets: state.targets(isCutOff: views.isCutOff),
                refill: refill))
        hearForgotten(state.forgottenTargets.sorted())
        guard isPrimary else { return }
        let others = TargetRegistry(
            state.clients.filter { $0.id != membership.journal.clientID })
        let ended = membership.others.all.subtracting(others.all)
        self.membership?.others = others
        self.membership?.othersCommit = state.commit
        try releaseUnwanted(ended)
        try watch(others.all)
    }

    /// What the primary has said meanwhile of targets that the backend refuses, and of wishes to
    /// take writes back, was missed: it says it again.
    private func askPrimaryAgain() {
        guard let membership else { return }
        self.membership?.unsent.begunTargets.formUnion(membership.ownTargets)
        repeatCancellations()
    }

    private var shownViews: [ShownView] {
        views.queries.compactMap { query in
            guard let id = views.viewID(of: query), views.isLoaded(id), let view = views.view(id)
            else { return nil }
            return ShownView(id: id, view: view, targetID: targets.id(of: id))
        }
    }

    /// Tells who waits for batches that are no longer pending what became of them.
    private func settleLeftBatches() throws(LarderError) {
        let waiting = Set(acknowledgements.keys).union(pendingWaiters.keys)
        for id in waiting.sorted() {
            switch try localStore.outcome(of: id) {
            case .pending: break
            case .rejected(let letter): settle(id, .failure(letter.error))
            case .acknowledgedOrUnknown:
                // It may be pending for the user before this one.
                if try !localStore.isPending(id) { settle(id, .success(())) }
            }
        }
        pendingObservers.noteChange()
        deadLetterObservers.noteChange()
    }
}

/// A view as it is, to be compared with the store.
private struct ShownView {
    let id: ViewID
    let view: View
    let targetID: Int32?
}

/// What a store has that views do not show.
private struct StoreState {
    let commit: UInt64
    let clients: [ClientRow<Int32>]
    let network: NetworkState?
    private(set) var changes: [LocalViewChange] = []
    private var told: [ViewID: ViewTargetChange] = [:]
    /// Targets whose documents and tokens another client has taken out of the store.
    private(set) var forgottenTargets: [Int32] = []

    init(commit: UInt64, clients: [ClientRow<Int32>], network: NetworkState?) {
        self.commit = commit
        self.clients = clients
        self.network = network
    }

    /// What the backend has told of the targets of views; without a connection, nothing is current.
    func targets(isCutOff: Bool) -> [ViewID: ViewTargetChange] {
        told.mapValues { change in
            var change = change
            change.isCurrent = change.isCurrent && !isCutOff
            return change
        }
    }

    /// A token that is gone from the store was taken: it is stored as soon as there is one.
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
        told[shown.id] = ViewTargetChange(
            added: Array(keys.subtracting(shown.view.syncedDocuments)),
            removed: Array(shown.view.syncedDocuments.subtracting(keys)),
            isCurrent: try transaction.isCurrent(target: id))
    }
}
