import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import OrderedCollections

extension Engine {
    /// Applies what the backend has told to the store, then to the views.
    func apply(_ event: RemoteEvent) {
        do throws(LarderError) {
            try applied(event)
        } catch {
            recover(from: error)
            // The targets go on from where the store is, so that the backend tells it again.
            for id in event.targets.keys { listenAgain(id) }
        }
    }

    private func applied(_ event: RemoteEvent) throws(LarderError) {
        let applied = try localStore.apply(event, to: targets.data)
        recoveryBackoff.reset()
        targets.replaceAll(applied.targets)
        limbo.update(by: event.targets)
        views.note(event.version)
        var changes: [ViewID: ViewTargetChange] = [:]
        changes.reserveCapacity(event.targets.count)
        for (id, change) in event.targets {
            let index = applied.targets.index(forKey: id)
            let version = index.map { applied.targets.values[$0].snapshotVersion }
            for view in targets.views(of: id) {
                if membership != nil, !views.isLoaded(view) {
                    membership?.staleViews.insert(view)
                }
                changes[view] = ViewTargetChange(
                    added: Array(change.added), removed: Array(change.removed),
                    isCurrent: change.isCurrent, hasResumeToken: !change.resumeToken.isEmpty,
                    readTime: version ?? .none)
            }
        }
        let resets = event.mismatches.keys.flatMap { targets.views(of: $0) }
        finish(
            views.apply(
                applied.changes, targets: changes, pendingResets: Set(resets), refill: refill))
        let changed = event.targets.filter { id, change in
            change.hasDocuments || targets.data[id]?.limboFreeVersion.isNone == true
        }
        noteSynced(changed.keys)
        collect()
    }

    /// Notes targets of which no document is in limbo: when one is listened to again, its query
    /// begins with the documents it has and looks at what has changed since.
    ///
    /// It is noted when documents have changed, and when nobody listens any longer; stored with
    /// what the backend says of the target next, or when it is let go.
    func noteSynced(_ ids: some Sequence<Int32>) {
        for id in ids {
            let isSynced = targets.views(of: id).allSatisfy { views.view($0)?.isSynced == true }
            if isSynced { targets.noteSynced(id) }
        }
    }

    /// A target was refused; one of a query goes with its views.
    func reject(_ id: Int32, _ error: LarderError) {
        if let path = limbo.path(of: id) { return rejectLimbo(id, path) }
        guard let entry = targets[id] else { return }
        targets.setRemote(id, false)
        if membership != nil {
            membership?.unsent.rejections[id] = error
            membership?.others.forget(id)
            endOwnTarget(id)
        }
        for view in entry.views { finish(views.fail(view, error)) }
    }

    /// Replaces what the network side knows of a target by what the store knows.
    func listenAgain(_ id: Int32) {
        let active = targets[id].flatMap { $0.isRemote ? $0.data : nil }
        guard let data = active ?? limbo.data(of: id) else { return }
        guard isPrimary else { return }
        remoteStore.unlisten(id)
        remoteStore.listen(data) { [self] in remoteKeys(of: $0) }
    }

    /// A document in limbo that may not be asked for counts as gone, unless the backend tells of it
    /// in another target: then views that have it in limbo go on to show it, from the cache.
    private func rejectLimbo(_ id: Int32, _ path: DocumentPath) {
        if views.isVouchedFor(path) {
            limbo.reject(id)
            return resolveLimbo()
        }
        let gone = DocumentReading(path: path, contents: .absent, version: .none)
        let event = RemoteEvent(
            version: .none, documents: [path: gone], resolvedLimboDocuments: [path])
        do throws(LarderError) {
            try applied(event)
        } catch {
            // It is asked for again, and refused again, once the store works.
            recover(from: error)
            listenAgain(id)
            return
        }
        limbo.reject(id)
        resolveLimbo()
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
}
