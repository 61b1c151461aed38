import LarderDocumentStore
import LarderModel
import LarderQuery

extension Engine {
    /// At most so many entries are read at a time.
    private static let entriesPerRead = 200

    /// Takes in what others did, in order.
    ///
    /// A store that was closed under the client is deleted: the client ends with it.
    func hear() throws(LarderError) {
        do throws(LarderError) {
            while try hearSome() {}
        } catch {
            guard error.condition == .transactionEnded else { throw error }
            inbox.end()
            terminate { _ in }
        }
    }

    /// - Returns: whether there may be more.
    private func hearSome() throws(LarderError) -> Bool {
        guard let membership else { return false }
        let heard = membership.heardCommit
        let (floor, entries, last, hasMore) = try store.read {
            (transaction) throws(LarderError) in
            let found = try membership.journal.log.entries(
                after: heard, limit: Self.entriesPerRead, in: transaction)
            return (
                try transaction.journalFloor(), found.entries, found.last,
                found.last != transaction.commitNumber
            )
        }
        guard floor <= heard else {
            try resync()
            return hasHeard(moreThan: heard)
        }
        for entry in entries {
            try apply(entry)
            hasHeard(entry.commit)
        }
        hasHeard(last)
        return hasMore && hasHeard(moreThan: heard)
    }

    private func hasHeard(moreThan commit: UInt64) -> Bool {
        membership.map { $0.heardCommit > commit } ?? false
    }

    private func hasHeard(_ commit: UInt64) {
        guard let membership, commit > membership.heardCommit else { return }
        self.membership?.heardCommit = commit
        if !membership.loadedCommits.isEmpty {
            self.membership?.loadedCommits = membership.loadedCommits.filter { $0.value > commit }
        }
    }

    /// Takes in what one commit tells; may be done again when it throws.
    private func apply(_ entry: ChangeLog.Entry) throws(LarderError) {
        guard let news = StoreNews(payload: entry.payload) else { return try resync() }
        if membership?.isPrimary == true, news.isOfPrimary {
            // Another client has the network: this one finds out when it looks at the lease.
            membership?.hasPassedOver = true
            schedule(.lease, after: .zero)
            return
        }
        if news.documents?.isEmpty == false || !news.targets.isEmpty {
            try localStore.begin(news.batches.isEmpty ? .readNewChanges : .readBatchDocuments)
        }
        guard let paths = news.documents else {
            settle(news)
            return try resync()
        }
        let user = session.user
        let changes = try store.read { (transaction) throws(LarderError) in
            var changes: [LocalViewChange] = []
            for path in paths {
                let document = try transaction.document(at: path, asSeenBy: user)
                changes.append(
                    LocalViewChange(
                        path: path, before: nil, after: document, revertsWrites: news.revertsWrites)
                )
            }
            return changes
        }
        settle(news)
        apply(changes, news.targets, of: entry.commit)
        hearForgotten(news.forgottenTargets.sorted())
        for (id, error) in news.rejections.sorted(by: { $0.key < $1.key }) {
            reject(id, error, in: entry.commit)
        }
        if let network = news.network { apply(network) }
        try followClient(entry.origin, news, entry.commit)
    }

    private func apply(
        _ changes: [LocalViewChange], _ told: [Int32: StoreNews.Target], of commit: UInt64
    ) {
        guard !changes.isEmpty || !told.isEmpty else { return }
        var (targetChanges, resets) = ([ViewID: ViewTargetChange](), Set<ViewID>())
        for (id, target) in told {
            for view in targets.views(of: id) where membership?.isKnown(commit, to: view) == false {
                guard views.isLoaded(view) else {
                    membership?.staleViews.insert(view)
                    continue
                }
                targetChanges[view] = ViewTargetChange(
                    added: target.added, removed: target.removed, isCurrent: target.isCurrent)
                if target.isReset { resets.insert(view) }
            }
        }
        finish(
            views.apply(
                changes, knowsFormerStates: false, targets: targetChanges, pendingResets: resets,
                refill: refill))
    }

    /// Tells who waits for batches what became of them.
    private func settle(_ news: StoreNews) {
        guard !news.batches.isEmpty else { return }
        pendingObservers.noteChange()
        for batch in news.batches {
            switch batch.state {
            case .pending: break
            case .acknowledged: settle(batch.id, .success(()))
            case .rejected(let error):
                deadLetterObservers.noteChange()
                settle(batch.id, .failure(error))
            case .cancelled: settleCancelled(batch.id)
            case .kept: answerCancellation(batch.id, .success(false))
            }
        }
        if isPrimary, news.user == session.user { remoteStore.fillWritePipeline() }
    }

    /// The primary has told that the backend refuses a target.
    private func reject(_ id: Int32, _ error: LarderError, in commit: UInt64) {
        for view in targets.views(of: id) where membership?.isKnown(commit, to: view) == false {
            finish(views.fail(view, error))
        }
        endOwnTarget(id)
        noteTarget(id)
    }

    /// What a client tells of itself.
    private func followClient(_ client: String, _ news: StoreNews, _ commit: UInt64)
        throws(LarderError)
    {
        if news.freesLease, !isPrimary { schedule(.lease, after: .zero) }
        if news.takesLease, !isPrimary { repeatCancellations() }
        guard let membership, membership.isPrimary else { return }
        if commit > membership.othersCommit {
            var ended = news.endedTargets
            if news.hasLeft {
                ended.formUnion(membership.others.targets(of: client))
            }
            try release(ended, of: client)
            self.membership?.others.begin(news.begunTargets, of: client)
            try watch(news.begunTargets)
        }
        cancelWrites(news.cancellations, of: news.user)
    }

    /// Takes in what the primary knows of the network.
    func apply(_ network: NetworkState) {
        guard remote != nil, network != networkState else { return }
        show(network)
    }
}
