import HashTreeCollections
package import LarderModel
package import LarderQuery

/// The queries that are listened to: their views, their listeners, and which of them a changed
/// document touches.
///
/// A machine without threads, clocks or disk. Its owner hands in what happens, one step after
/// the other, and delivers what a step gives before the next one. One changed document costs
/// what it touches: views that cannot have it are not looked at.
package struct ActiveViews: Sendable {
    /// A listener, as the owner numbers it.
    package typealias ListenerID = UInt64

    /// Whether the backend can be reached.
    package private(set) var onlineState: OnlineState
    private var isSilent = false
    /// Whether nothing is current, since there is no connection to the backend.
    var isCutOff: Bool { onlineState == .offline && !isSilent }
    /// The last snapshot of the backend.
    private(set) var snapshotVersion = SnapshotVersion.none
    /// How many views were looked at for changes of documents so far, each once a step.
    package internal(set) var examinedViewCount = 0

    var views: [ViewID: ActiveView] = [:]
    var viewsByQuery: [Query: ViewID] = [:]
    var viewsByListener: [ListenerID: ViewID] = [:]
    var dispatch = DispatchIndex()
    var documentIndex = ViewDocumentIndex()
    var prepared = PreparedQueries()
    /// Views with commits that the watch stream has not confirmed.
    var unconfirmed: Set<ViewID> = []
    /// Views that wait for the result of their query.
    var loading: Set<ViewID> = []
    private var lastNumber = 0

    /// No views.
    ///
    /// - Parameter onlineState: offline for a client without a remote.
    package init(onlineState: OnlineState = .offline) {
        self.onlineState = onlineState
    }

    /// Queries that are listened to.
    package var viewCount: Int { views.count }

    /// The queries that are listened to, in no particular order.
    package var queries: [Query] { Array(viewsByQuery.keys) }

    /// The views that wait for the result of their query, in order.
    package var loadingViews: [ViewID] { loading.sorted() }

    /// The number of a query's view; nil while there is none.
    func viewID(of query: Query) -> ViewID? { viewsByQuery[query] }

    /// The view of a query; nil while nobody listens to it.
    package func view(of query: Query) -> View? {
        viewsByQuery[query].flatMap { views[$0]?.view }
    }

    /// The view that a listener listens to.
    func view(of listener: ListenerID) -> ViewID? { viewsByListener[listener] }

    /// True if a document is in the target of a view that the backend is asked for.
    ///
    /// A target that is resumed counts, too: the backend does not send again what it has sent.
    func isVouchedFor(_ path: DocumentPath) -> Bool {
        views.values.contains { $0.wantsRemote && $0.view.syncedDocuments.contains(path) }
    }

    /// Whether somebody listens to a view here.
    func hasListeners(_ id: ViewID) -> Bool { look(at: id) { !$0.listeners.isEmpty } ?? false }

    /// A view by its number; nil once it has ended.
    package func view(_ id: ViewID) -> View? { views[id]?.view }

    /// Whether a view has the first result of its query.
    func isLoaded(_ id: ViewID) -> Bool { look(at: id) { !$0.isLoading } ?? false }

    /// Whether a listener of a view wants to hear from the backend.
    func wantsRemote(_ id: ViewID) -> Bool { look(at: id) { $0.wantsRemote } ?? false }

    /// Documents that the backend has told to be in a view's target; nil for no view.
    func syncedDocuments(of id: ViewID) -> TreeSet<DocumentPath>? {
        look(at: id) { $0.view.syncedDocuments }
    }

    /// Lends a view to a closure where it lies, without a copy of it.
    private func look<R>(at id: ViewID, _ body: (borrowing ActiveView) -> R) -> R? {
        views.index(forKey: id).map { body(views.values[$0]) }
    }

    /// Takes a change of the online state: views first, then listeners that waited for it.
    ///
    /// - Parameter isSilent: whether the backend is offline only in that an open stream is silent:
    ///   first snapshots come from the cache then, and what is current stays so.
    package mutating func apply(_ state: OnlineState, isSilent: Bool = false) -> ViewEffects {
        var step = ViewEffects()
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

    /// Forgets which documents are in limbo: they are found anew when the backend has spoken.
    mutating func forgetLimbo() {
        for id in views.keys { views[id]?.view.forgetLimbo() }
    }

    /// Notes a snapshot of the backend, before what it tells is applied.
    mutating func note(_ version: SnapshotVersion) {
        snapshotVersion = max(snapshotVersion, version)
    }

    /// Notes that the backend is asked for a view's target: what it told of it so far counts until
    /// it tells of it again.
    mutating func askAgain(_ id: ViewID) {
        endWatch(of: id)
        views[id]?.view.isRemote = true
    }

    /// Notes that the backend is no longer asked for a view's target.
    mutating func stopWatching(_ id: ViewID) {
        endWatch(of: id)
        views[id]?.view.abandonTarget()
    }

    private mutating func endWatch(of id: ViewID) {
        views[id]?.view.confirm(through: snapshotVersion)
        views[id]?.view.setWatched(false)
    }

    /// Applies changes to a view.
    mutating func apply(
        _ changes: ViewDocumentChanges, to id: ViewID, target: ViewTargetChange?,
        isPendingReset: Bool = false, _ step: inout ViewEffects
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

    /// Passes on what applying changes to a view gave.
    mutating func deliver(
        _ update: (snapshot: ViewSnapshot?, limboChanges: [LimboChange]), of id: ViewID,
        _ step: inout ViewEffects
    ) {
        if !update.limboChanges.isEmpty { step.limboChanges.append((id, update.limboChanges)) }
        guard var snapshot = update.snapshot, let index = views.index(forKey: id) else { return }
        views.values[index].view.confirm(through: snapshotVersion)
        snapshot.readTime = views.values[index].view.readTime
        documentIndex.apply(snapshot.changes, to: id)
        views.values[index].deliver(snapshot, &step)
    }

    /// Ends a view.
    mutating func end(_ id: ViewID) {
        guard let active = views.removeValue(forKey: id) else { return }
        viewsByQuery[active.view.query] = nil
        for listener in active.listeners { viewsByListener[listener.id] = nil }
        dispatch.remove(id, active.view.query)
        prepared.remove(id)
        loading.remove(id)
        unconfirmed.remove(id)
        documentIndex.removeAll(of: active.view.documents, view: id)
    }
}

/// What adding a listener asks of the caller.
package struct AddedListener: Sendable {
    /// The view that it listens to.
    package let view: ViewID
    /// Whether the query is new: run it, and hand the result to
    /// ``ActiveViews/load(_:_:remoteKeys:target:refill:)``.
    package let needsLoad: Bool
    /// Whether the backend is to be asked for the query, once it has its result.
    package let startsRemote: Bool
    /// What is told at once.
    package let step: ViewEffects
}

/// What removing a listener asks of the caller.
package struct RemovedListener: Sendable {
    /// The view that it listened to.
    package let view: ViewID
    /// Whether the view has ended with its last listener.
    package let endsView: Bool
    /// Whether the backend is no longer to be asked for the query.
    package let stopsRemote: Bool
    /// What has changed; tells no listener anything.
    package let step: ViewEffects
}

extension ActiveViews {
    /// Adds a listener to a query.
    ///
    /// The first one of a query makes the caller run it; later ones are shown what is there. A
    /// listener of the backend that joins listeners of the cache starts the remote side alone.
    ///
    /// - Parameter id: a number that no listener has; one that is taken is removed first.
    package mutating func addListener(
        _ id: ListenerID, to query: Query, options: ListenOptions = ListenOptions()
    ) -> AddedListener {
        if isListening(id) { _ = removeListener(id) }
        let known = viewsByQuery[query]
        let view = known ?? beginView(of: query)
        let hadRemote = views[view]?.wantsRemote ?? false
        var step = ViewEffects()
        views[view]?.view.confirm(through: snapshotVersion)
        views[view]?.add(id, QueryListener(options: options, onlineState: onlineState), &step)
        viewsByListener[id] = view
        return AddedListener(
            view: view, needsLoad: known == nil,
            startsRemote: options.source == .default && !hadRemote, step: step)
    }

    /// Keeps a view of a query that nobody listens to here.
    ///
    /// - Returns: the view, and whether it is new: run the query, as for a listener's.
    mutating func addView(of query: Query) -> (view: ViewID, needsLoad: Bool) {
        if let known = viewsByQuery[query] { return (known, false) }
        return (beginView(of: query), true)
    }

    private mutating func beginView(of query: Query) -> ViewID {
        let id = newViewID()
        views[id] = ActiveView(View(query, comparator: prepared.comparator(of: query)))
        viewsByQuery[query] = id
        loading.insert(id)
        dispatch.insert(id, query)
        return id
    }

    /// Removes a listener, and the view with its last one.
    ///
    /// The remote side stops with the last listener that wanted it, even if listeners of the
    /// cache stay.
    ///
    /// - Parameters:
    ///   - id: the listener.
    ///   - keepsView: whether the view stays without it.
    /// - Returns: nil for a listener that is not there, or is no longer.
    package mutating func removeListener(
        _ id: ListenerID, keepsView: Bool = false
    ) -> RemovedListener? {
        guard let view = viewsByListener.removeValue(forKey: id) else { return nil }
        let hadRemote = views[view]?.wantsRemote ?? false
        views[view]?.remove(id)
        let endsView = !keepsView && !hasListeners(view)
        let stopsRemote = hadRemote && !(views[view]?.wantsRemote ?? false)
        if endsView { end(view) }
        var step = ViewEffects()
        step.pinnedPaths = documentIndex.takeChange()
        return RemovedListener(
            view: view, endsView: endsView, stopsRemote: stopsRemote, step: step)
    }

    /// Ends a view that nobody listens to.
    mutating func endView(_ view: ViewID) -> ViewEffects {
        var step = ViewEffects()
        end(view)
        step.endedViews.append(view)
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// Ends a view whose query could not be run or was rejected: its listeners are told and
    /// forgotten.
    package mutating func fail(_ view: ViewID, _ error: LarderError) -> ViewEffects {
        var step = ViewEffects()
        fail(view, error, &step)
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// Tells listeners that still wait for a first snapshot that there will be none.
    func failWaiting(_ error: LarderError) -> ViewEffects {
        var step = ViewEffects()
        for id in views.keys.sorted() {
            for listener in views[id]?.listeners ?? [] where listener.listener.isWaiting {
                step.deliver(error, to: listener.id)
            }
        }
        return step
    }

    mutating func fail(_ view: ViewID, _ error: LarderError, _ step: inout ViewEffects) {
        for listener in views[view]?.listeners ?? [] { step.deliver(error, to: listener.id) }
        end(view)
        step.endedViews.append(view)
    }
}
