import HashTreeCollections
import LarderModel
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
    var held = HeldDocuments()
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

    /// Whether the backend has told that a document is in the target of a view, and the view is up
    /// to date.
    func isVouchedFor(_ path: DocumentPath) -> Bool {
        views.values.contains { $0.view.isCurrent && $0.view.syncedDocuments.contains(path) }
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
    package mutating func apply(_ state: OnlineState, isSilent: Bool = false) -> ViewStep {
        var step = ViewStep()
        guard state != onlineState || isSilent != self.isSilent else { return step }
        onlineState = state
        self.isSilent = isSilent
        let ids = views.keys.sorted()
        for id in ids where !isSilent {
            views[id]?.view.confirm(through: snapshotVersion)
            guard let update = views[id]?.view.apply(state) else { continue }
            finish(update, of: id, &step)
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
        isPendingReset: Bool = false, _ step: inout ViewStep
    ) {
        guard let index = views.index(forKey: id) else { return }
        let update = views.values[index].view.apply(
            changes, target: target, isPendingReset: isPendingReset)
        if views.values[index].view.unconfirmedCommits.isEmpty {
            unconfirmed.remove(id)
        } else {
            unconfirmed.insert(id)
        }
        finish(update, of: id, &step)
    }

    func isListening(_ id: ListenerID) -> Bool { viewsByListener[id] != nil }

    mutating func newViewID() -> ViewID {
        lastNumber += 1
        return ViewID(number: lastNumber)
    }

    /// Passes on what applying changes to a view gave.
    mutating func finish(_ update: ViewUpdate, of id: ViewID, _ step: inout ViewStep) {
        if !update.limboChanges.isEmpty { step.limboChanges.append((id, update.limboChanges)) }
        guard var snapshot = update.snapshot, let index = views.index(forKey: id) else { return }
        views.values[index].view.confirm(through: snapshotVersion)
        snapshot.readTime = views.values[index].view.readTime
        held.apply(snapshot.changes, to: id)
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
        held.removeAll(of: active.view.documents, view: id)
    }
}
