import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

/// A listener on its way to the view of its query.
struct QueuedListener: Sendable {
    let id: Engine.ID
    let query: Query
    let options: ListenOptions
    let deliver: @Sendable (Result<ViewSnapshot, LarderError>) -> Void
}

/// The first queries of new views that are running.
struct LoadingQueries {
    /// The numbers of those that are running; they rise.
    private var running: Set<Int> = []
    private var lastNumber = 0
    /// With the number of the last query that they wait for, which rises.
    private var waiters: [(number: Int, body: @Sendable () -> Void)] = []

    var isRunning: Bool { !running.isEmpty }

    /// - Returns: the number of a query that begins.
    mutating func begin() -> Int {
        lastNumber += 1
        running.insert(lastNumber)
        return lastNumber
    }

    /// Ends a query; ``releaseWaiters()`` is to follow.
    mutating func end(_ number: Int) {
        running.remove(number)
    }

    /// Calls a closure when none of the queries that are running now is: at once without any.
    mutating func wait(_ body: @escaping @Sendable () -> Void) {
        if running.isEmpty, waiters.isEmpty { return body() }
        waiters.append((lastNumber, body))
    }

    /// Releases the callers whose queries have ended.
    mutating func releaseWaiters() {
        guard !waiters.isEmpty else { return }
        let first = running.min() ?? .max
        let released = waiters.prefix { $0.number < first }
        waiters.removeFirst(released.count)
        for waiter in released { waiter.body() }
    }

    mutating func cancel() {
        running = []
        releaseWaiters()
    }
}

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

    /// Runs the query of a new view, and computes its first result, concurrently with the engine.
    ///
    /// - Parameter number: that of the query if it is run again; callers wait for this run as well.
    func load(_ id: ViewID, _ targetID: Int32?, again number: Int? = nil) {
        guard let view = views.view(id) else { return endLoading(number) }
        let number = number ?? loading.begin()
        let (session, evictionCommit) = (session, store.lastEvictionCommit)
        scheduler.read {
            let result = Result { () throws(LarderError) in try session.load(view, targetID) }
            _ = self.add(
                .perform {
                    $0.finishLoading(
                        number, id, view, targetID,
                        $0.store.lastEvictionCommit == evictionCommit
                            ? result : $0.reload(id, view, targetID))
                })
        }
    }

    private func finishLoading(
        _ number: Int, _ id: ViewID, _ view: View, _ targetID: Int32?,
        _ result: Result<LoadedQuery, LarderError>
    ) {
        guard !isTerminated else { return }
        if multiClient?.takeStale(id) == true, !views.isLoaded(id) {
            return load(id, targetID, again: number)
        }
        switch result {
        case .success(let loaded) where loaded.commit < follower.commit:
            // Documents removed since were removed while the view was empty.
            return load(id, targetID, again: number)
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
        endLoading(number)
    }

    private func endLoading(_ number: Int?) {
        guard let number else { return }
        loading.end(number)
        loading.releaseWaiters()
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

    /// The documents and the state of a new view's target.
    ///
    /// Another view of the target may know more than the store did when the query ran; a shared
    /// store has everything.
    private func targetState(
        of view: ViewID, _ loaded: LoadedQuery
    ) -> (remoteKeys: TreeSet<DocumentPath>, change: View.TargetChange?) {
        let stored = loaded.remoteKeys
        guard let id = targets.id(of: view), let entry = targets[id] else { return (stored, nil) }
        if multiClient != nil {
            multiClient?.loaded(view, from: loaded.commit)
            // A view without listeners here asks the backend again.
            let isCurrent = loaded.isCurrent && views.hasListeners(view)
            let change = View.TargetChange(
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
            View.TargetChange(
                isCurrent: sibling?.isSynced ?? false,
                hasResumeToken: !entry.data.resumeToken.isEmpty,
                readTime: entry.data.snapshotVersion)
        )
    }

    /// Fails listeners that still wait for a first snapshot.
    func failWaitingListeners() {
        finish(views.failWaiting(Client.terminated))
        loading.cancel()
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

    /// Shows a commit's changes to the views and their listeners.
    func apply(_ changes: [LocalChange]) {
        finish(views.apply(changes, refill: refill))
    }

    /// Runs the query of a view whose limit has to be filled again.
    var refill: (Query) throws(LarderError) -> [Document] {
        let session = session
        return { (query) throws(LarderError) in
            try session.localStore.store.read { (transaction) throws(LarderError) in
                try session.runner.run(query, in: transaction).documents
            }
        }
    }

    /// Performs the effects of a step of the views.
    func finish(_ step: ActiveViews.Effects) {
        track(step.limboChanges)
        for view in step.endedViews { detach(view) }
        for delivery in step.deliveries {
            deliveries[delivery.listener]?(delivery.result)
            if case .failure = delivery.result { deliveries[delivery.listener] = nil }
        }
        // Pins fail only for a closed store, which has nothing to keep.
        try? store.pin(step.pinnedPaths.entered)
        try? store.unpin(step.pinnedPaths.left)
        if step.firesSnapshotsInSync { observers.snapshotsInSync.send(()) }
    }
}
