import HashTreeCollections
import LarderModel
import LarderQuery

/// A view, those who listen to it, and what it misses while its first result is not there.
struct ActiveView: Sendable {
    var view: View
    private(set) var listeners: [Listener] = []
    /// While the query runs the first time: the latest states of documents that changed.
    private var missed: [DocumentPath: Document?]? = [:]

    struct Listener: Sendable {
        let id: ActiveViews.ListenerID
        var listener: QueryListener
    }

    init(_ view: View) {
        self.view = view
    }

    var isLoading: Bool { missed != nil }

    /// Whether someone wants to hear from the backend.
    var wantsRemote: Bool { listeners.contains { $0.listener.options.source == .default } }

    /// Hears what the backend has told of the view's target.
    ///
    /// - Returns: whether it makes the view another, so that it is to be applied; a view that
    ///   still waits for its result is none yet.
    mutating func hear(_ target: View.TargetChange) -> Bool {
        guard !isLoading else { return false }
        if view.isTouched(by: target) { return true }
        view.confirm(by: target)
        return false
    }

    /// Keeps changes until the first result is there.
    mutating func miss(_ updates: [LocalChange]) {
        for update in updates { missed?.updateValue(update.after, forKey: update.path) }
    }

    /// Forgets the changes that came so far while the query ran.
    mutating func discardMissed() {
        if isLoading { missed = [:] }
    }

    /// Gives the changes that came while the query ran; nil when it is not running.
    mutating func finishLoading(remoteKeys: TreeSet<DocumentPath>) -> [LocalChange]? {
        guard let missed else { return nil }
        self.missed = nil
        view.syncedDocuments = remoteKeys
        return missed.map { LocalChange(path: $0.key, before: nil, after: $0.value) }
    }

    /// Adds a listener, and shows it what is there.
    mutating func add(
        _ id: ActiveViews.ListenerID, _ listener: QueryListener, _ step: inout ActiveViews.Effects
    ) {
        var listener = listener
        if let current = view.currentSnapshot, let raised = listener.onSnapshot(current) {
            step.deliver(raised, to: id)
        }
        listeners.append(Listener(id: id, listener: listener))
    }

    /// Takes a listener out.
    mutating func remove(_ id: ActiveViews.ListenerID) {
        listeners.removeAll { $0.id == id }
    }

    /// Shows a snapshot to all listeners.
    mutating func deliver(_ snapshot: ViewSnapshot, _ step: inout ActiveViews.Effects) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onSnapshot(snapshot) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }

    /// Tells all listeners the online state.
    mutating func deliver(_ onlineState: OnlineState, _ step: inout ActiveViews.Effects) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onOnlineState(onlineState) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }
}

/// What is prepared for active queries and may be made again: the matchers of views that changes
/// have touched lately, and comparators, which queries with the same orders share.
///
/// A matcher takes more memory than the rest of an idle view, so that only so many are kept.
struct PreparedQueries: Sendable {
    private var matchers: [ViewID: QueryMatcher] = [:]
    private var comparators: [[Order]: DocumentComparator] = [:]
    private static let capacity = 1_024

    /// The matcher of a view's query.
    ///
    /// - Throws: `invalidArgument` for a query that cannot be prepared.
    mutating func matcher(of query: Query, for view: ViewID) throws(LarderError) -> QueryMatcher {
        if let matcher = matchers[view] { return matcher }
        let matcher = try QueryMatcher(query)
        if matchers.count >= Self.capacity { matchers.removeAll(keepingCapacity: true) }
        matchers[view] = matcher
        return matcher
    }

    /// The comparator of a query.
    mutating func comparator(of query: Query) -> DocumentComparator {
        let orders = query.orders
        if let comparator = comparators[orders] { return comparator }
        let comparator = DocumentComparator(orders: orders)
        if comparators.count >= Self.capacity { comparators.removeAll(keepingCapacity: true) }
        comparators[orders] = comparator
        return comparator
    }

    /// Forgets a view.
    mutating func remove(_ view: ViewID) {
        matchers[view] = nil
    }
}
