import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// Applies what other clients of the store do.
extension Engine {
    /// The maximum number of entries that are read at a time.
    private static let entriesPerRead = 200

    /// Applies the changes of other clients, in order.
    ///
    /// A store that was closed under the client is deleted: the client ends with it.
    func applyOtherClientsChanges() throws(LarderError) {
        do throws(LarderError) {
            while try applySomeChanges() {}
        } catch {
            guard error.condition == .transactionEnded else { throw error }
            inbox.end()
            terminate { _ in }
        }
    }

    /// - Returns: whether there may be more.
    private func applySomeChanges() throws(LarderError) -> Bool {
        guard let multiClient else { return false }
        let applied = multiClient.appliedCommit
        let (floor, entries, last, hasMore) = try store.read {
            (transaction) throws(LarderError) in
            let found = try multiClient.journal.log.entries(
                after: applied, limit: Self.entriesPerRead, in: transaction)
            return (
                try transaction.journalFloor(), found.entries, found.last,
                found.last != transaction.commitNumber
            )
        }
        guard floor <= applied else {
            try resync()
            return hasApplied(moreThan: applied)
        }
        for entry in entries {
            try apply(entry)
            self.multiClient?.applied(entry.commit)
        }
        self.multiClient?.applied(last)
        return hasMore && hasApplied(moreThan: applied)
    }

    private func hasApplied(moreThan commit: UInt64) -> Bool {
        multiClient.map { $0.appliedCommit > commit } ?? false
    }

    /// Applies a commit of another client; repeated when it throws.
    private func apply(_ entry: ChangeLog.Entry) throws(LarderError) {
        guard let change = SharedChange(payload: entry.payload) else { return try resync() }
        if let effects = multiClient?.skip(change) { return perform(effects) }
        if change.documents?.isEmpty == false || !change.targets.isEmpty {
            try localStore.begin(change.batches.isEmpty ? .readNewChanges : .readBatchDocuments)
        }
        guard let paths = change.documents else {
            settle(change)
            return try resync()
        }
        let user = session.user
        let changes = try store.read { (transaction) throws(LarderError) in
            var changes: [LocalChange] = []
            for path in paths {
                let document = try transaction.document(at: path, asSeenBy: user)
                changes.append(
                    LocalChange(
                        path: path, before: nil, after: document,
                        revertsWrites: change.revertsWrites))
            }
            return changes
        }
        settle(change)
        apply(changes, change.targets, of: entry.commit)
        if !change.forgottenTargets.isEmpty {
            show(forgetting: change.forgottenTargets.sorted())
        }
        for (id, error) in change.rejections.sorted(by: { $0.key < $1.key }) {
            reject(id, error, in: entry.commit)
        }
        if let network = change.network { show(network) }
        try followClient(entry.origin, change, entry.commit)
    }

    private func apply(
        _ changes: [LocalChange], _ changedTargets: [Int32: SharedChange.Target],
        of commit: UInt64
    ) {
        guard !changes.isEmpty || !changedTargets.isEmpty else { return }
        var (targetChanges, resets) = ([ViewID: View.TargetChange](), Set<ViewID>())
        for (id, target) in changedTargets {
            for view in viewsBefore(commit, of: id) {
                guard views.isLoaded(view) else {
                    multiClient?.markStale(view)
                    continue
                }
                targetChanges[view] = View.TargetChange(
                    added: target.added, removed: target.removed, isCurrent: target.isCurrent)
                if target.isReset { resets.insert(view) }
            }
        }
        finish(
            views.apply(
                changes, knowsFormerStates: false, targets: targetChanges, pendingResets: resets,
                refill: refill))
    }

    /// The views of a target that were not loaded from a commit, or a later one.
    private func viewsBefore(_ commit: UInt64, of id: Int32) -> [ViewID] {
        targets.views(of: id).filter { multiClient?.isLoaded($0, from: commit) == false }
    }

    /// Completes the callers waiting for a change's batches.
    private func settle(_ change: SharedChange) {
        guard !change.batches.isEmpty else { return }
        observers.pendingWrites.noteChange()
        for batch in change.batches {
            switch batch.state {
            case .pending: break
            case .acknowledged: settle(batch.id, .success(()))
            case .rejected(let error):
                observers.deadLetters.noteChange()
                settle(batch.id, .failure(error))
            case .cancelled: settleCancelled(batch.id)
            case .kept: multiClient?.answer(batch.id, .success(false))
            }
        }
        if isPrimary, change.user == session.user { remoteStore.fillWritePipeline() }
    }

    /// Handles the refusal of a target that the primary has published.
    private func reject(_ id: Int32, _ error: LarderError, in commit: UInt64) {
        for view in viewsBefore(commit, of: id) { finish(views.fail(view, error)) }
        multiClient?.endTarget(id)
        multiClient?.note(target: id)
    }

    /// Applies a change of another client's lease, targets and requests.
    private func followClient(_ client: String, _ change: SharedChange, _ commit: UInt64)
        throws(LarderError)
    {
        if change.freesLease, !isPrimary { schedule(.lease, after: .zero) }
        if change.takesLease, !isPrimary { multiClient?.repeatCancellations(of: session.user) }
        guard let multiClient, multiClient.isPrimary else { return }
        if commit > multiClient.othersCommit {
            var ended = change.endedTargets
            if change.hasLeft { ended.formUnion(multiClient.others.targets(of: client)) }
            try release(ended, of: client)
            self.multiClient?.beginTargets(change.begunTargets, of: client)
            try watch(change.begunTargets)
        }
        guard !change.cancellations.isEmpty else { return }
        let ids = Set(change.cancellations).sorted()
        // A failure is answered like batches that were sent: the writes stay.
        let cancelled = (try? cancel(ids, of: change.user)) ?? []
        for id in ids where !cancelled.contains(id) {
            self.multiClient?.unsent.batches.append(SharedChange.Batch(id, .kept))
        }
    }

    // MARK: Resync

    /// Brings everything up to date with the store: the client has missed changes.
    func resync() throws(LarderError) {
        guard let clientID = multiClient?.journal.clientID else { return }
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
        multiClient?.resynced(state.commit, loading: views.loadingViews)
        try settleLeftBatches()
        if !isPrimary {
            multiClient?.repeatRequests(of: user)
            if let network = state.network { show(network) }
        }
        finish(
            views.apply(
                state.changes, knowsFormerStates: false,
                targets: state.targets(isCutOff: views.isCutOff), refill: refill))
        if !state.forgottenTargets.isEmpty {
            show(forgetting: state.forgottenTargets.sorted())
        }
        guard let former = multiClient?.others, isPrimary else { return }
        let others = TargetRegistry(state.clients.filter { $0.id != clientID })
        multiClient?.readOthers(others, at: state.commit)
        try releaseUnwanted(former.all.subtracting(others.all))
        try watch(others.all)
    }

    private var shownViews: [ShownView] {
        views.queries.compactMap { query in
            guard let id = views.viewID(of: query), views.isLoaded(id), let view = views.view(id)
            else { return nil }
            return ShownView(id: id, view: view, targetID: targets.id(of: id))
        }
    }

    /// Completes the callers waiting for batches that are no longer pending.
    private func settleLeftBatches() throws(LarderError) {
        for id in completions.batchIDs.sorted() {
            switch try localStore.outcome(of: id) {
            case .pending: break
            case .rejected(let letter): settle(id, .failure(letter.error))
            case .acknowledgedOrUnknown:
                // It may be pending for a former user.
                if try !localStore.isPending(id) { settle(id, .success(())) }
            }
        }
        observers.pendingWrites.noteChange()
        observers.deadLetters.noteChange()
    }
}
