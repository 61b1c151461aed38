import HashTreeCollections
import LarderModel
import LarderQuery

/// A view, its listeners, and the changes that it misses until its first result.
struct ActiveView: Sendable {
    var view: View
    private(set) var listeners: [Listener] = []
    /// While the first query runs: what the view misses.
    private var missed: MissedChanges? = MissedChanges()

    struct Listener: Sendable {
        let id: ActiveViews.ListenerID
        var listener: QueryListener
    }

    init(_ view: View) {
        self.view = view
    }

    var isLoading: Bool { missed != nil }

    var wantsRemote: Bool { listeners.contains { $0.listener.options.source == .default } }

    /// Applies a change of the view's target that does not touch the result.
    ///
    /// - Returns: true if the change touches the result of a loaded view, and has to be applied to
    ///   it.
    mutating func hear(_ target: View.TargetChange) -> Bool {
        guard !isLoading else { return false }
        if view.isTouched(by: target) { return true }
        view.confirm(by: target)
        return false
    }

    mutating func miss(_ updates: some Sequence<LocalChange>, knowsFormerStates: Bool) {
        missed?.add(updates, knowsFormerStates: knowsFormerStates)
    }

    mutating func discardMissed() {
        if isLoading { missed = MissedChanges() }
    }

    /// Returns the changes since the query began; nil when it is not running.
    mutating func finishLoading(remoteKeys: TreeSet<DocumentPath>) -> MissedChanges? {
        guard let missed else { return nil }
        self.missed = nil
        view.syncedDocuments = remoteKeys
        return missed
    }

    /// Adds a listener, and delivers the present result to it.
    mutating func add(
        _ id: ActiveViews.ListenerID, _ listener: QueryListener, _ step: inout ActiveViews.Effects
    ) {
        var listener = listener
        if let current = view.currentSnapshot, let raised = listener.onSnapshot(current) {
            step.deliver(raised, to: id)
        }
        listeners.append(Listener(id: id, listener: listener))
    }

    mutating func remove(_ id: ActiveViews.ListenerID) {
        listeners.removeAll { $0.id == id }
    }

    mutating func deliver(_ snapshot: ViewSnapshot, _ step: inout ActiveViews.Effects) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onSnapshot(snapshot) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }

    mutating func deliver(_ onlineState: OnlineState, _ step: inout ActiveViews.Effects) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onOnlineState(onlineState) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }
}

/// A cache of the matchers of recently touched views, and of comparators, which queries with the
/// same orders share.
///
/// Bounded, since a matcher takes more memory than the rest of an idle view.
struct PreparedQueries: Sendable {
    private var matchers: [ViewID: QueryMatcher] = [:]
    private var comparators: [[Order]: DocumentComparator] = [:]
    private static let capacity = 1_024

    /// - Throws: `invalidArgument` for a query that cannot be prepared.
    mutating func matcher(of query: Query, for view: ViewID) throws(LarderError) -> QueryMatcher {
        if let matcher = matchers[view] { return matcher }
        let matcher = try QueryMatcher(query)
        if matchers.count >= Self.capacity { matchers.removeAll(keepingCapacity: true) }
        matchers[view] = matcher
        return matcher
    }

    mutating func comparator(of query: Query) -> DocumentComparator {
        let orders = query.orders
        if let comparator = comparators[orders] { return comparator }
        let comparator = DocumentComparator(orders: orders)
        if comparators.count >= Self.capacity { comparators.removeAll(keepingCapacity: true) }
        comparators[orders] = comparator
        return comparator
    }

    mutating func remove(_ view: ViewID) {
        matchers[view] = nil
    }
}
