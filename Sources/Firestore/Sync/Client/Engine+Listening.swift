import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension Engine {
    /// Adds listeners; the targets of their queries are stored in one commit.
    func addListeners(_ listeners: inout [QueuedListener]) {
        guard !listeners.isEmpty else { return }
        let group = listeners
        listeners.removeAll(keepingCapacity: true)
        guard !isTerminated else {
            for listener in group { listener.deliver(.failure(Client.terminated)) }
            return
        }
        var begun: [(view: ViewID, query: Query)] = []
        for listener in group {
            deliveries[listener.id] = listener.deliver
            let added = views.addListener(
                listener.id, to: listener.query, options: listener.options)
            finish(added.step)
            if added.needsLoad {
                begun.append((added.view, listener.query))
            } else if added.startsRemote, views.isLoaded(added.view) {
                startRemote(added.view)
            }
        }
        if remote != nil { attach(begun) }
        for (view, _) in begun { load(view, targets.id(of: view)) }
    }

    /// Gives new views their targets; without one a view fails.
    private func attach(_ begun: [(view: ViewID, query: Query)]) {
        do throws(LarderError) {
            let known = try allocateTargets(begun.map(\.query.target))
            for ((view, _), data) in zip(begun, known) { attach(view, to: data) }
        } catch {
            let failure = LarderError(.unavailable, "the query has no target", cause: error)
            for (view, _) in begun { finish(views.fail(view, failure)) }
        }
    }

    /// Runs the query of a new view beside the engine, on a commit that is at least as new as
    /// what the view has missed nothing of; the result is prepared there, too.
    func load(_ id: ViewID, _ targetID: Int32?) {
        guard let view = views.view(id) else { return }
        loadingCount += 1
        let (session, evictionCommit) = (session, store.lastEvictionCommit)
        scheduler.read {
            let result = Result { () throws(LarderError) in try session.load(view, targetID) }
            _ = self.add(
                .perform {
                    $0.finishLoading(
                        id, view, targetID,
                        $0.store.lastEvictionCommit == evictionCommit
                            ? result : $0.reload(id, view, targetID))
                })
        }
    }

    private func finishLoading(
        _ id: ViewID, _ view: View, _ targetID: Int32?,
        _ result: Result<LoadedQuery, LarderError>
    ) {
        // Who waited has been told, and nothing is counted any more.
        guard !isTerminated else { return }
        loadingCount -= 1
        if membership?.staleViews.remove(id) != nil, !views.isLoaded(id) {
            return load(id, targetID)
        }
        switch result {
        case .success(let loaded) where loaded.commit < followedCommit:
            // What has gone since then went while the view was empty.
            load(id, targetID)
        case .success(let loaded):
            let (remoteKeys, change) = targetState(of: id, loaded)
            finish(
                views.load(
                    id, loaded.changes, remoteKeys: remoteKeys, target: change, refill: refill))
            noteRun(of: view.query, loaded.execution)
            if let target = targets.id(of: id), isWanted(target) { startRemote(id) }
        case .failure(let error):
            finish(views.fail(id, error))
        }
        if loadingCount == 0 { releaseLoadingWaiters() }
    }

    /// Runs the query of a new view again because documents were evicted meanwhile: they are pinned
    /// only once a view shows them.
    ///
    /// Runs on the engine, so that no commit follows before the result is shown.
    private func reload(
        _ id: ViewID, _ view: View, _ targetID: Int32?
    ) -> Result<LoadedQuery, LarderError> {
        views.discardMissed(id)
        return Result { () throws(LarderError) in try session.load(view, targetID) }
    }

    /// What is known of a new view's target: the documents in it, and what it says as a whole.
    ///
    /// Another view of the target may know more than the store did when the query ran; where the
    /// store is shared, all is in it.
    private func targetState(
        of view: ViewID, _ loaded: LoadedQuery
    ) -> (remoteKeys: TreeSet<DocumentPath>, change: ViewTargetChange?) {
        let stored = loaded.remoteKeys
        guard let id = targets.id(of: view), let entry = targets[id] else { return (stored, nil) }
        if let membership {
            if loaded.commit > membership.heardCommit {
                self.membership?.loadedCommits[view] = loaded.commit
            }
            // What nobody listens to here is asked of the backend anew.
            let isCurrent = loaded.isCurrent && views.hasListeners(view)
            let change = ViewTargetChange(
                isCurrent: isCurrent && !views.isCutOff,
                hasResumeToken: !entry.data.resumeToken.isEmpty,
                readTime: entry.data.snapshotVersion)
            return (stored, change)
        }
        let sibling = entry.views.lazy.filter { $0 != view }.compactMap { [views] in
            views.isLoaded($0) ? views.view($0) : nil
        }.first
        return (
            sibling?.syncedDocuments ?? stored,
            ViewTargetChange(
                isCurrent: sibling?.isSynced ?? false,
                hasResumeToken: !entry.data.resumeToken.isEmpty,
                readTime: entry.data.snapshotVersion)
        )
    }

    private func releaseLoadingWaiters() {
        let waiters = loadingWaiters
        loadingWaiters = []
        for waiter in waiters { waiter() }
    }

    /// Tells listeners that still wait for a first snapshot that there will be none.
    func failWaitingListeners() {
        finish(views.failWaiting(Client.terminated))
        loadingCount = 0
        releaseLoadingWaiters()
    }

    /// Calls the closure when no new listener waits for its first result.
    func whenLoaded(_ body: @escaping @Sendable () -> Void) {
        if loadingCount == 0 { body() } else { loadingWaiters.append(body) }
    }

    func removeListener(_ id: ID) {
        deliveries[id] = nil
        if let target = views.view(of: id).flatMap({ targets.id(of: $0) }) { noteSynced([target]) }
        let isKept = views.view(of: id).map { isKeptForOthers($0) } ?? false
        guard let removed = views.removeListener(id, keepsView: isKept) else { return }
        finish(removed.step)
        if removed.endsView {
            detach(removed.view)
            collect()
        } else if removed.stopsRemote {
            stopRemoteIfUnwanted(removed.view)
        }
    }

    /// Tells the views what a commit did, and the listeners what that means to them.
    func apply(_ changes: [LocalViewChange]) {
        finish(views.apply(changes, refill: refill))
    }

    var refill: (Query) throws(LarderError) -> [Document] {
        let session = session
        return { (query) throws(LarderError) in
            try session.localStore.store.read { (transaction) throws(LarderError) in
                try session.runner.run(query, in: transaction).documents
            }
        }
    }

    /// Carries out what a step of the views has led to.
    func finish(_ step: ViewEffects) {
        track(step.limboChanges)
        for view in step.endedViews { detach(view) }
        for delivery in step.deliveries {
            deliveries[delivery.listener]?(delivery.result)
            if case .failure = delivery.result { deliveries[delivery.listener] = nil }
        }
        // Pins fail only for a store that is closed, and then there is nothing to keep.
        try? store.pin(step.pinnedPaths.entered)
        try? store.unpin(step.pinnedPaths.left)
        guard step.firesSnapshotsInSync else { return }
        for deliver in inSyncListeners.valuesInOrder { deliver() }
    }

    func addInSyncListener(_ id: ID, _ deliver: @escaping @Sendable () -> Void) {
        inSyncListeners[id] = deliver
        deliver()
    }

    func removeInSyncListener(_ id: ID) {
        inSyncListeners[id] = nil
    }

    /// Brings the views up to date with commits of another process.
    ///
    /// - Returns: whether all of them are.
    func refresh() -> Bool {
        var isComplete = true
        let (runner, user) = (session.runner, session.user)
        for query in views.queries {
            guard let view = views.view(of: query) else { continue }
            do throws(LarderError) {
                let changes = try store.read { (transaction) throws(LarderError) in
                    try view.changes(to: transaction, running: runner, of: user)
                }
                apply(changes)
            } catch {
                log("a listener could not follow another process: \(error)")
                isComplete = false
            }
        }
        return isComplete
    }
}

extension View {
    /// How the documents of the view's query differ in a store from those of the view.
    func changes<T: ReadableTransaction & ~Copyable>(
        to transaction: borrowing T, running runner: QueryRunner, of user: UserID
    ) throws(LarderError) -> [LocalViewChange] {
        let found = try runner.run(query, in: transaction).documents
        var changes = found.map {
            LocalViewChange(
                path: $0.path, before: documents.document(at: $0.path), after: $0)
        }
        let paths = Set(found.map(\.path))
        for old in documents where !paths.contains(old.path) {
            let now = try transaction.document(at: old.path, asSeenBy: user)
            changes.append(LocalViewChange(path: old.path, before: old, after: now))
        }
        return changes
    }
}
