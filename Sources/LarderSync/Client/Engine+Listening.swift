import Dispatch
import LarderModel
import LarderQuery
import LarderStorage

extension Engine {
    func addListener(
        _ id: ID, to query: Query, _ options: ListenOptions,
        _ deliver: @escaping @Sendable (Result<ViewSnapshot, LarderError>) -> Void
    ) {
        guard !isTerminated else {
            deliver(.failure(Client.terminated))
            return
        }
        deliveries[id] = deliver
        let added = views.addListener(id, to: query, options: options)
        finish(added.step)
        if added.needsLoad { load(added.view, query) }
    }

    /// Runs the query of a new view beside the engine, on a commit that is at least as new as
    /// what the view has missed nothing of.
    private func load(_ view: ViewID, _ query: Query) {
        loadingCount += 1
        let (runner, store) = (runner, localStore.store)
        readers.async {
            let result = Result { () throws(LarderError) in
                try store.read { (transaction) throws(LarderError) in
                    try runner.run(query, in: transaction)
                }
            }
            _ = self.add(.perform { $0.finishLoading(view, query, result) })
        }
    }

    private func finishLoading(
        _ view: ViewID, _ query: Query, _ result: Result<QueryResult, LarderError>
    ) {
        switch result {
        case .success(let result):
            finish(views.load(view, result.documents, refill: refill))
            noteRun(of: query, result.execution)
        case .failure(let error):
            finish(views.fail(view, error))
        }
        loadingCount -= 1
        if loadingCount == 0 { releaseLoadingWaiters() }
    }

    private func releaseLoadingWaiters() {
        let waiters = loadingWaiters
        loadingWaiters = []
        for waiter in waiters { waiter() }
    }

    /// Tells listeners that still wait for a first result that there will be none.
    func failLoading() {
        for view in views.loadingViews { finish(views.fail(view, Client.terminated)) }
        loadingCount = 0
        releaseLoadingWaiters()
    }

    /// Calls the closure when no new listener waits for its first result.
    func whenLoaded(_ body: @escaping @Sendable () -> Void) {
        if loadingCount == 0 { body() } else { loadingWaiters.append(body) }
    }

    func removeListener(_ id: ID) {
        deliveries[id] = nil
        guard let removed = views.removeListener(id) else { return }
        finish(removed.step)
        if removed.endsView { collect() }
    }

    /// Tells the views what a commit did, and the listeners what that means to them.
    func apply(_ changes: [LocalViewChange]) {
        finish(views.apply(changes, refill: refill))
    }

    private var refill: (Query) throws(LarderError) -> [Document] {
        let (runner, store) = (runner, localStore.store)
        return { (query) throws(LarderError) in
            try store.read { (transaction) throws(LarderError) in
                try runner.run(query, in: transaction).documents
            }
        }
    }

    /// Carries out what a step of the views has led to.
    private func finish(_ step: ViewStep) {
        let store = localStore.store
        // Pins fail only for a store that is closed, and then there is nothing to keep.
        for path in step.pinnedPaths.entered { try? store.pin(path) }
        for path in step.pinnedPaths.left { try? store.unpin(path) }
        for delivery in step.deliveries {
            deliveries[delivery.listener]?(delivery.result)
            if case .failure = delivery.result { deliveries[delivery.listener] = nil }
        }
        guard step.firesSnapshotsInSync else { return }
        for deliver in inSyncListeners.values { deliver() }
    }

    func addInSyncListener(_ id: ID, _ deliver: @escaping @Sendable () -> Void) {
        inSyncListeners[id] = deliver
        deliver()
    }

    func removeInSyncListener(_ id: ID) {
        inSyncListeners[id] = nil
    }

    /// Brings the views up to date with commits of another process.
    func refresh() {
        for query in views.queries {
            guard let view = views.view(of: query) else { continue }
            do throws(LarderError) {
                let (runner, user) = (runner, localStore.user)
                let changes = try localStore.store.read {
                    (transaction) throws(LarderError) -> [LocalViewChange] in
                    let documents = try runner.run(query, in: transaction).documents
                    var changes = documents.map {
                        LocalViewChange(
                            path: $0.path, before: view.documents.document(at: $0.path), after: $0)
                    }
                    let paths = Set(documents.map(\.path))
                    for old in view.documents where !paths.contains(old.path) {
                        changes.append(
                            LocalViewChange(
                                path: old.path, before: old,
                                after: try transaction.document(at: old.path, asSeenBy: user)))
                    }
                    return changes
                }
                apply(changes)
            } catch {
                log("a listener could not follow another process: \(error)")
            }
        }
    }
}
