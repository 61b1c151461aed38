import HashTreeCollections
import LarderModel

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
    mutating func hear(_ target: ViewTargetChange) -> Bool {
        guard !isLoading else { return false }
        if view.isTouched(by: target) { return true }
        view.confirm(by: target)
        return false
    }

    /// Keeps changes until the first result is there.
    mutating func miss(_ updates: [DocumentUpdate]) {
        for update in updates { missed?.updateValue(update.document, forKey: update.path) }
    }

    /// Gives the changes that came while the query ran; nil when it is not running.
    mutating func finishLoading(remoteKeys: TreeSet<DocumentPath>) -> [DocumentUpdate]? {
        guard let missed else { return nil }
        self.missed = nil
        view.syncedDocuments = remoteKeys
        return missed.map { DocumentUpdate(path: $0.key, document: $0.value) }
    }

    /// Adds a listener, and shows it what is there.
    mutating func add(
        _ id: ActiveViews.ListenerID, _ listener: QueryListener, _ step: inout ViewStep
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
    mutating func deliver(_ snapshot: ViewSnapshot, _ step: inout ViewStep) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onSnapshot(snapshot) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }

    /// Tells all listeners the online state.
    mutating func deliver(_ onlineState: OnlineState, _ step: inout ViewStep) {
        for index in listeners.indices {
            if let raised = listeners[index].listener.onOnlineState(onlineState) {
                step.deliver(raised, to: listeners[index].id)
            }
        }
    }
}
