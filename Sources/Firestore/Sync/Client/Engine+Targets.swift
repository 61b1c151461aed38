import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote

extension Engine {
    /// Finds the targets of queries, active ones or stored ones, or makes them.
    func allocateTargets(_ wanted: [QueryTarget]) throws(LarderError) -> [TargetData] {
        let unknown = wanted.filter { targets.data(of: $0) == nil }
        var stored: ArraySlice<TargetData> = []
        if !unknown.isEmpty { stored = try localStore.allocateTargets(unknown)[...] }
        return wanted.compactMap { targets.data(of: $0) ?? stored.popFirst() }
    }

    /// Gives a view its target, which is kept from eviction as long as it has a view.
    func attach(_ view: ViewID, to data: TargetData) {
        if targets.attach(view, to: data) { try? store.pin(target: data.id) }
    }

    /// Takes a view that has ended from its target, which is let go with its last view.
    func detach(_ view: ViewID) {
        guard let id = targets.detach(view) else { return }
        noteTarget(id)
        if targets.views(of: id).isEmpty { release(id) } else { stopRemoteIfUnwanted(id) }
    }

    /// Asks the backend for a view's target.
    func startRemote(_ view: ViewID) {
        guard let id = targets.id(of: view) else { return }
        noteTarget(id)
        guard targets[id]?.isRemote == false else { return }
        targets.setRemote(id, true)
        listen(to: id)
    }

    /// Asks the backend for a target; the primary does for others.
    func listen(to id: Int32) {
        guard isPrimary, let data = targets[id]?.data else { return }
        remoteStore.listen(data) { [self] in remoteKeys(of: $0) }
    }

    /// Asks the backend for a view's target no longer when no listener wants it.
    func stopRemoteIfUnwanted(_ view: ViewID) {
        guard let id = targets.id(of: view) else { return }
        noteTarget(id)
        stopRemoteIfUnwanted(id)
    }

    /// Asks the backend for a target no longer when nobody wants it.
    func stopRemoteIfUnwanted(_ id: Int32) {
        guard targets[id]?.isRemote == true, !isWanted(id) else { return }
        targets.setRemote(id, false)
        remoteStore.unlisten(id)
        for view in targets.views(of: id) { views.stopWatching(view) }
        limbo.releaseAll(of: id)
        resolveLimbo()
    }

    /// Notes that the backend is asked for a target anew, perhaps on another stream: its snapshots
    /// hold for the target's results no longer, until it tells of the target again.
    func noteAsked(_ request: WatchRequest) {
        guard case .add(let target) = request else { return }
        for view in targets.views(of: target.id) { views.askAgain(view) }
    }

    /// Lets a target go, with what the backend has said of it last.
    private func release(_ id: Int32) {
        guard let entry = targets[id] else { return }
        do throws(LarderError) {
            // Other clients know less than the store does.
            if isPrimary { try localStore.releaseTarget(entry.data) }
        } catch {
            // What was stored of it before holds as well; the backend tells the rest again.
            log("a target could not be saved when its last listener went: \(error)")
        }
        try? store.unpin(target: id)
        targets.remove(id)
        if entry.isRemote { remoteStore.unlisten(id) }
        limbo.releaseAll(of: id)
        resolveLimbo()
    }

    // MARK: Limbo

    /// Notes documents that came into limbo or left it.
    func track(_ changes: [(view: ViewID, changes: [LimboChange])]) {
        guard !changes.isEmpty, isPrimary else { return }
        for (view, changes) in changes {
            guard let id = targets.id(of: view) else { continue }
            for change in changes { limbo.apply(change, of: id) }
        }
        resolveLimbo()
    }

    /// Asks the backend for documents in limbo.
    func resolveLimbo() {
        for request in limbo.takeRequests() {
            switch request {
            case .listen(let data): remoteStore.listen(data) { _ in [] }
            case .unlisten(let id): remoteStore.unlisten(id)
            }
        }
    }
}
