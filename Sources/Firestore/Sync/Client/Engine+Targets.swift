import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote

extension Engine {
    /// Finds the targets of queries, active ones or stored ones, or allocates them.
    func allocateTargets(_ wanted: [QueryTarget]) throws(LarderError) -> [TargetData] {
        let unknown = wanted.filter { targets.data(of: $0) == nil }
        var stored: ArraySlice<TargetData> = []
        if !unknown.isEmpty { stored = try localStore.allocateTargets(unknown)[...] }
        return wanted.compactMap { targets.data(of: $0) ?? stored.popFirst() }
    }

    /// Gives a view its target, which is pinned as long as it has a view.
    func attach(_ view: ViewID, to data: TargetData) {
        if targets.attach(view, to: data) { try? store.pin(target: data.id) }
    }

    /// Detaches a view that has ended from its target, which is released with its last view.
    func detach(_ view: ViewID) {
        guard let id = targets.detach(view) else { return }
        multiClient?.note(target: id)
        if targets.views(of: id).isEmpty { release(id) } else { stopRemoteIfUnwanted(id) }
    }

    /// Listens to a view's target at the backend.
    func startRemote(_ view: ViewID) {
        guard let id = targets.id(of: view) else { return }
        multiClient?.note(target: id)
        startRemote(id)
    }

    private func startRemote(_ id: Int32) {
        guard targets[id]?.isRemote == false else { return }
        targets.setRemote(id, true)
        listen(to: id)
    }

    /// Listens to a target at the backend; the primary does so for other clients.
    func listen(to id: Int32) {
        guard isPrimary, let data = targets[id]?.data else { return }
        remoteStore.listen(data) { [self] in remoteKeys(of: $0) }
    }

    /// Listens to a target again, from the stored state.
    func listenAgain(_ id: Int32) {
        let active = targets[id].flatMap { $0.isRemote ? $0.data : nil }
        guard let data = active ?? limbo.data(of: id), isPrimary else { return }
        remoteStore.unlisten(id)
        remoteStore.listen(data) { [self] in remoteKeys(of: $0) }
    }

    /// Stops listening to a view's target at the backend if no listener wants it.
    func stopRemoteIfUnwanted(_ view: ViewID) {
        guard let id = targets.id(of: view) else { return }
        multiClient?.note(target: id)
        stopRemoteIfUnwanted(id)
    }

    private func stopRemoteIfUnwanted(_ id: Int32) {
        guard targets[id]?.isRemote == true, !isWanted(id) else { return }
        targets.setRemote(id, false)
        remoteStore.unlisten(id)
        for view in targets.views(of: id) { views.stopWatching(view) }
        limbo.releaseAll(of: id)
        resolveLimbo()
    }

    /// Notes that a target was requested, perhaps on another stream: its results are not current
    /// until the backend says so again.
    func noteRequested(_ id: Int32) {
        for view in targets.views(of: id) { views.askAgain(view) }
    }

    /// Releases a target, and stores its state.
    private func release(_ id: Int32) {
        guard let entry = targets[id] else { return }
        do throws(LarderError) {
            // Other clients know less than the store does.
            if isPrimary { try localStore.releaseTarget(entry.data) }
        } catch {
            // The former state is valid as well; the backend sends the rest again.
            log("a target could not be saved when its last listener went: \(error)")
        }
        try? store.unpin(target: id)
        targets.remove(id)
        if entry.isRemote { remoteStore.unlisten(id) }
        limbo.releaseAll(of: id)
        resolveLimbo()
    }

    /// Discards the state of targets, as the store has.
    ///
    /// - Returns: the changes to their views.
    func forget(_ ids: [Int32]) -> [ViewID: View.TargetChange] {
        var changes: [ViewID: View.TargetChange] = [:]
        for id in ids where targets[id] != nil {
            let keys = Array(remoteKeys(of: id))
            for view in targets.views(of: id) { changes[view] = View.TargetChange(removed: keys) }
            targets.forgetContents(of: id)
        }
        return changes
    }

    /// Notes targets without documents in limbo: when one is listened to again, its query starts
    /// with its documents and looks at those that have changed since.
    ///
    /// Noted when documents have changed and when the last listener ends; stored with the target's
    /// next state, or when it is released.
    func noteSynced(_ ids: some Sequence<Int32>) {
        for id in ids {
            let isSynced = targets.views(of: id).allSatisfy { views.view($0)?.isSynced == true }
            if isSynced { targets.noteSynced(id) }
        }
    }

    /// The documents that the backend is known to have in a target.
    func remoteKeys(of id: Int32) -> TreeSet<DocumentPath> {
        if let path = limbo.document(of: id) { return [path] }
        var keys = TreeSet<DocumentPath>()
        for view in targets.views(of: id) {
            guard let synced = views.syncedDocuments(of: view) else { continue }
            keys = keys.isEmpty ? synced : keys.union(synced)
        }
        return keys
    }

    // MARK: Limbo

    /// Tracks documents that have entered or left limbo.
    func track(_ changes: [(view: ViewID, changes: [LimboChange])]) {
        guard !changes.isEmpty, isPrimary else { return }
        for (view, changes) in changes {
            guard let id = targets.id(of: view) else { continue }
            for change in changes { limbo.apply(change, of: id) }
        }
        resolveLimbo()
    }

    /// Listens to documents in limbo.
    func resolveLimbo() {
        for request in limbo.takeRequests() {
            switch request {
            case .listen(let data): remoteStore.listen(data) { _ in [] }
            case .unlisten(let id): remoteStore.unlisten(id)
            }
        }
    }

    // MARK: Targets of other clients

    /// Whether a listener of this client wants a target from the backend.
    func isWantedHere(_ id: Int32) -> Bool {
        targets.views(of: id).contains { views.wantsRemote($0) }
    }

    /// Whether a client wants a target for which this one uses the network.
    func isWanted(_ id: Int32) -> Bool { isWantedHere(id) || isWantedByOthers(id) }

    private func isWantedByOthers(_ id: Int32) -> Bool {
        multiClient?.others.contains(id) == true
    }

    /// Whether a view is kept although it has no listeners here.
    func isKeptForOthers(_ view: ViewID) -> Bool {
        guard let id = targets.id(of: view) else { return false }
        return targets.views(of: id) == [view] && isWantedByOthers(id)
    }

    /// Listens to targets of another client at the backend.
    func watch(_ ids: Set<Int32>) throws(LarderError) {
        let missing = try findTargets(ids.filter { targets[$0] == nil })
        for id in ids.sorted() { startRemote(id) }
        for data in missing { keepView(of: data) }
    }

    /// Looks up targets; those that are not stored are skipped.
    func findTargets(_ ids: Set<Int32>) throws(LarderError) -> [TargetData] {
        var found: [TargetData] = []
        for id in ids.sorted() {
            guard let data = try localStore.targetData(id) else { continue }
            found.append(try localStore.allocateTarget(data.target))
        }
        return found
    }

    /// Keeps a view of another client's target, and listens to the target at the backend.
    func keepView(of data: TargetData) {
        let (view, needsLoad) = views.addView(of: data.target.query)
        if targets.id(of: view) == nil { attach(view, to: data) }
        if needsLoad { load(view, data.id) } else { startRemote(view) }
    }

    /// Ends targets of another client.
    func release(_ ids: Set<Int32>, of client: String) throws(LarderError) {
        multiClient?.endTargets(ids, of: client)
        do throws(LarderError) {
            try releaseUnwanted(ids)
        } catch {
            // Repeated later, and must find the targets of the client again.
            multiClient?.beginTargets(ids, of: client)
            throw error
        }
    }

    /// Releases targets of another client, unless a further client wants them.
    func releaseUnwanted(_ ids: Set<Int32>) throws(LarderError) {
        for id in ids.sorted() where !isWanted(id) {
            guard let entry = targets[id] else { continue }
            if entry.views.contains(where: { views.hasListeners($0) }) {
                stopRemoteIfUnwanted(id)
                continue
            }
            try localStore.releaseTarget(entry.data)
            for view in entry.views { finish(views.endView(view)) }
        }
    }
}
