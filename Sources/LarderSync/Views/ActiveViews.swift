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
    /// How many views were looked at for changes of documents so far, each once a step.
    package internal(set) var examinedViewCount = 0

    var views: [ViewID: ActiveView] = [:]
    var viewsByQuery: [Query: ViewID] = [:]
    var viewsByListener: [ListenerID: ViewID] = [:]
    var dispatch = DispatchIndex()
    var held = HeldDocuments()
    var prepared = PreparedQueries()
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
    package var loadingViews: [ViewID] { views.filter(\.value.isLoading).keys.sorted() }

    /// The view of a query; nil while nobody listens to it.
    package func view(of query: Query) -> View? {
        viewsByQuery[query].flatMap { views[$0]?.view }
    }

    /// Takes a change of the online state: views first, then listeners that waited for it.
    package mutating func apply(_ state: OnlineState) -> ViewStep {
        var step = ViewStep()
        guard state != onlineState else { return step }
        onlineState = state
        let ids = views.keys.sorted()
        for id in ids {
            guard let update = views[id]?.view.apply(state) else { continue }
            finish(update, of: id, &step)
        }
        for id in ids { views[id]?.deliver(state, &step) }
        return step
    }

    func isListening(_ id: ListenerID) -> Bool { viewsByListener[id] != nil }

    mutating func newViewID() -> ViewID {
        lastNumber += 1
        return ViewID(number: lastNumber)
    }

    /// Passes on what applying changes to a view gave.
    mutating func finish(_ update: ViewUpdate, of id: ViewID, _ step: inout ViewStep) {
        if !update.limboChanges.isEmpty { step.limboChanges.append((id, update.limboChanges)) }
        guard let snapshot = update.snapshot else { return }
        held.apply(snapshot.changes, to: id)
        views[id]?.deliver(snapshot, &step)
    }

    /// Ends a view.
    mutating func end(_ id: ViewID) {
        guard let active = views.removeValue(forKey: id) else { return }
        viewsByQuery[active.view.query] = nil
        for listener in active.listeners { viewsByListener[listener.id] = nil }
        dispatch.remove(id, active.view.query)
        prepared.remove(id)
        held.removeAll(of: active.view.documents, view: id)
    }
}
