import HashTreeCollections
package import LarderModel
package import LarderQuery

/// The active queries: their views, their listeners, and the index of those that a changed document
/// touches.
///
/// A pure machine: its owner feeds it one step after the other, and delivers the effects of a step
/// before the next one. A changed document costs only the views that it may touch.
package struct ActiveViews: Sendable {
    /// The owner's number of a listener.
    package typealias ListenerID = UInt64

    package private(set) var onlineState: OnlineState
    private var isSilent = false
    /// True if no view is current because there is no connection to the backend.
    var isCutOff: Bool { onlineState == .offline && !isSilent }
    private(set) var snapshotVersion = SnapshotVersion.none
    /// The number of views examined for changes of documents so far, each once per step.
    package internal(set) var examinedViewCount = 0

    var views: [ViewID: ActiveView] = [:]
    var viewsByQuery: [Query: ViewID] = [:]
    var viewsByListener: [ListenerID: ViewID] = [:]
    var dispatch = DispatchIndex()
    var documentIndex = ViewDocumentIndex()
    var prepared = PreparedQueries()
    /// Views with commits that the watch stream has not confirmed.
    var unconfirmed: Set<ViewID> = []
    /// Views whose first query is running.
    var loading: Set<ViewID> = []
    /// The windows from which limited views are filled again between the steps of a commit.
    var windows: [ViewID: CommitWindow] = [:]
    private var lastNumber = 0
    /// True if the store has all documents that there are, and no backend others.
    private let isAuthoritative: Bool

    /// - Parameters:
    ///   - onlineState: offline for a client without a remote.
    ///   - isAuthoritative: true if the store has all documents that there are.
    package init(onlineState: OnlineState = .offline, isAuthoritative: Bool = false) {
        self.onlineState = onlineState
        self.isAuthoritative = isAuthoritative
    }

    /// The number of active queries.
    package var viewCount: Int { views.count }

    /// The active queries, in no particular order.
    package var queries: [Query] { Array(viewsByQuery.keys) }

    /// The views whose first query is running, in order.
    package var loadingViews: [ViewID] { loading.sorted() }

    func viewID(of query: Query) -> ViewID? { viewsByQuery[query] }

    package func view(of query: Query) -> View? {
        viewsByQuery[query].flatMap { views[$0]?.view }
    }

    func view(of listener: ListenerID) -> ViewID? { viewsByListener[listener] }

    /// True if a document is in the target of a view that listens to the backend.
    ///
    /// Resumed targets are included: the backend does not repeat what it has sent.
    package func isVouchedFor(_ path: DocumentPath) -> Bool {
        views.values.contains { $0.wantsRemote && $0.view.syncedDocuments.contains(path) }
    }

    func hasListeners(_ id: ViewID) -> Bool { look(at: id) { !$0.listeners.isEmpty } ?? false }

    package func view(_ id: ViewID) -> View? { views[id]?.view }

    func isLoaded(_ id: ViewID) -> Bool { look(at: id) { !$0.isLoading } ?? false }

    /// Whether a listener of a view wants changes from the backend.
    func wantsRemote(_ id: ViewID) -> Bool { look(at: id) { $0.wantsRemote } ?? false }

    /// The documents that the backend has reported in a view's target; nil for no view.
    ///
    /// Mutating only to read in place, for every document that the backend sends: the getters of
    /// a dictionary copy the whole view.
    mutating func syncedDocuments(of id: ViewID) -> TreeSet<DocumentPath>? {
        func read(_ active: inout ActiveView) -> TreeSet<DocumentPath> {
            active.view.syncedDocuments
        }
        return views.index(forKey: id).map { read(&views.values[$0]) }
    }

    /// Passes a view to a closure without a copy.
    private func look<R>(at id: ViewID, _ body: (borrowing ActiveView) -> R) -> R? {
        views.index(forKey: id).map { body(views.values[$0]) }
    }

    /// Applies a change of the online state: to views first, then to listeners that waited for it.
    ///
    /// - Parameter isSilent: whether the backend is offline only in that an open stream is silent:
    ///   first snapshots then come from the cache, and current views stay current.
    package mutating func apply(_ state: OnlineState, isSilent: Bool = false) -> ActiveViews.Effects
    {
        var step = ActiveViews.Effects()
        guard state != onlineState || isSilent != self.isSilent else { return step }
        onlineState = state
        self.isSilent = isSilent
        let ids = views.keys.sorted()
        for id in ids where !isSilent {
            views[id]?.view.confirm(through: snapshotVersion)
            guard let update = views[id]?.view.apply(state) else { continue }
            deliver(update, of: id, &step)
        }
        for id in ids { views[id]?.deliver(state, &step) }
        return step
    }

    /// Forgets the documents in limbo, which the next snapshots identify again.
    mutating func forgetLimbo() {
        for id in views.keys { views[id]?.view.forgetLimbo() }
    }

    /// Notes a snapshot of the backend, before it is applied.
    mutating func note(_ version: SnapshotVersion) {
        snapshotVersion = max(snapshotVersion, version)
    }

    /// Notes a request for a view's target: its state stays until the backend answers.
    mutating func askAgain(_ id: ViewID) {
        endWatch(of: id)
        views[id]?.view.isRemote = true
    }

    /// Notes that a view's target has ended at the backend.
    mutating func stopWatching(_ id: ViewID) {
        endWatch(of: id)
        views[id]?.view.abandonTarget()
    }

    private mutating func endWatch(of id: ViewID) {
        views[id]?.view.confirm(through: snapshotVersion)
        views[id]?.view.setWatched(false)
    }

    mutating func apply(
        _ changes: View.Update, to id: ViewID, target: View.TargetChange?,
        isPendingReset: Bool = false, _ step: inout ActiveViews.Effects
    ) {
        guard let index = views.index(forKey: id) else { return }
        let update = views.values[index].view.apply(
            changes, target: target, isPendingReset: isPendingReset)
        if views.values[index].view.unconfirmedCommits.isEmpty {
            unconfirmed.remove(id)
        } else {
            unconfirmed.insert(id)
        }
        deliver(update, of: id, &step)
    }

    func isListening(_ id: ListenerID) -> Bool { viewsByListener[id] != nil }

    mutating func newViewID() -> ViewID {
        lastNumber += 1
        return ViewID(number: lastNumber)
    }

    /// Collects the effects of changes to a view.
    mutating func deliver(
        _ update: (snapshot: ViewSnapshot?, limboChanges: [LimboChange]), of id: ViewID,
        _ step: inout ActiveViews.Effects
    ) {
        if !update.limboChanges.isEmpty { step.limboChanges.append((id, update.limboChanges)) }
        guard var snapshot = update.snapshot, let index = views.index(forKey: id) else { return }
        views.values[index].view.confirm(through: snapshotVersion)
        snapshot.readTime = views.values[index].view.readTime
        documentIndex.apply(snapshot.changes, to: id)
        views.values[index].deliver(snapshot, &step)
    }

    mutating func end(_ id: ViewID) {
        guard let active = views.removeValue(forKey: id) else { return }
        viewsByQuery[active.view.query] = nil
        for listener in active.listeners { viewsByListener[listener.id] = nil }
        dispatch.remove(id, active.view.query)
        prepared.remove(id)
        loading.remove(id)
        unconfirmed.remove(id)
        windows[id] = nil
        documentIndex.removeAll(of: active.view.documents, view: id)
    }
}

/// The caller's work after a listener was added.
package struct AddedListener: Sendable {
    package let view: ViewID
    /// Whether the query is new: run it, and pass the result to
    /// ``ActiveViews/load(_:_:remoteKeys:target:refill:)``.
    package let needsLoad: Bool
    /// Whether to listen to the query at the backend, once it has its result.
    package let startsRemote: Bool
    package let step: ActiveViews.Effects
}

/// The caller's work after a listener was removed.
package struct RemovedListener: Sendable {
    package let view: ViewID
    package let endsView: Bool
    /// Whether to stop listening to the query at the backend.
    package let stopsRemote: Bool
    /// Effects without deliveries.
    package let step: ActiveViews.Effects
}

extension ActiveViews {
    /// Adds a listener to a query.
    ///
    /// The first listener of a query makes the caller run it; later ones receive the present
    /// result. A listener of the backend that joins listeners of the cache only starts the remote
    /// side.
    ///
    /// - Parameter id: a new number; a listener that has it is removed first.
    package mutating func addListener(
        _ id: ListenerID, to query: Query, options: ListenOptions = ListenOptions()
    ) -> AddedListener {
        if isListening(id) { _ = removeListener(id) }
        let known = viewsByQuery[query]
        let view = known ?? beginView(of: query)
        let hadRemote = views[view]?.wantsRemote ?? false
        var step = ActiveViews.Effects()
        views[view]?.view.confirm(through: snapshotVersion)
        views[view]?.add(id, QueryListener(options: options, onlineState: onlineState), &step)
        viewsByListener[id] = view
        return AddedListener(
            view: view, needsLoad: known == nil,
            startsRemote: options.source == .default && !hadRemote, step: step)
    }

    /// Adds a view without listeners.
    ///
    /// - Returns: the view, and whether its query must be run, as for a listener.
    mutating func addView(of query: Query) -> (view: ViewID, needsLoad: Bool) {
        if let known = viewsByQuery[query] { return (known, false) }
        return (beginView(of: query), true)
    }

    private mutating func beginView(of query: Query) -> ViewID {
        let id = newViewID()
        views[id] = ActiveView(
            View(
                query, comparator: prepared.comparator(of: query),
                isAuthoritative: isAuthoritative))
        viewsByQuery[query] = id
        loading.insert(id)
        dispatch.insert(id, query)
        return id
    }

    /// Removes a listener, and the view with its last one.
    ///
    /// The remote side stops with the last listener that wanted it, even if listeners of the cache
    /// remain.
    ///
    /// - Parameters:
    ///   - keepsView: whether the view stays without listeners.
    /// - Returns: nil for an unknown listener.
    package mutating func removeListener(
        _ id: ListenerID, keepsView: Bool = false
    ) -> RemovedListener? {
        guard let view = viewsByListener.removeValue(forKey: id) else { return nil }
        let hadRemote = views[view]?.wantsRemote ?? false
        views[view]?.remove(id)
        let endsView = !keepsView && !hasListeners(view)
        let stopsRemote = hadRemote && !(views[view]?.wantsRemote ?? false)
        if endsView { end(view) }
        var step = ActiveViews.Effects()
        step.pinnedPaths = documentIndex.takeChange()
        return RemovedListener(
            view: view, endsView: endsView, stopsRemote: stopsRemote, step: step)
    }

    /// Ends a view without listeners.
    mutating func endView(_ view: ViewID) -> ActiveViews.Effects {
        var step = ActiveViews.Effects()
        end(view)
        step.endedViews.append(view)
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// Ends a view whose query failed or was rejected, and its listeners with the error.
    package mutating func fail(_ view: ViewID, _ error: LarderError) -> ActiveViews.Effects {
        var step = ActiveViews.Effects()
        fail(view, error, &step)
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// Fails listeners that still wait for a first snapshot.
    func failWaiting(_ error: LarderError) -> ActiveViews.Effects {
        var step = ActiveViews.Effects()
        for id in views.keys.sorted() {
            for listener in views[id]?.listeners ?? [] where listener.listener.isWaiting {
                step.deliver(error, to: listener.id)
            }
        }
        return step
    }

    mutating func fail(_ view: ViewID, _ error: LarderError, _ step: inout ActiveViews.Effects) {
        for listener in views[view]?.listeners ?? [] { step.deliver(error, to: listener.id) }
        end(view)
        step.endedViews.append(view)
    }
}
