import LarderRealtimeModel

/// A query with what is known of its data, its listeners and its holders.
///
/// The view has two caches: what the server said of the location, and what listeners see, which
/// is that with the visible pending writes applied and the query's selection made.
struct QueryView: Sendable {
    let query: QuerySpec
    let filter: ViewFilter
    /// The place of the view among all that were made.
    let number: Int
    /// The name of the query in messages of the server; nil if it loads all data.
    let tag: Int?
    /// The query's own listen, if the query is filtered.
    var listen = ListenState.none
    /// The server's data.
    var server: CachedNode
    /// The data that listeners see: the server's with pending writes.
    var shown: CachedNode
    /// The location's content with pending writes, as far as it is complete.
    ///
    /// A full window is refilled from it. Nil until that is needed.
    var layered: Node?
    /// The children of acknowledged writes that the server's window lacks and a pending write may
    /// have made room for.
    var unconfirmed: Set<ChildKey> = []
    /// The server's content of children outside the known window, as the store has it.
    var others: [ChildKey: Node] = [:]
    /// The children that pending writes change in part and the server's window lacks.
    var writtenInPart: Set<ChildKey> = []
    /// Those of them whose content is unknown, and which may belong to what is shown.
    var uncertain: Set<ChildKey> = []
    /// Where the known window ended when that was found out.
    var certaintyEdge: IndexPosition?
    /// How the window has changed since that was last stored.
    var keyChanges = WindowKeyChanges()

    /// In the order in which they were added, which is that of their numbers.
    private(set) var listeners: [Listener] = []
    /// The metadata of the last value of the listeners that receive the value again when it
    /// changes: listeners of metadata, and others as long as their value is incomplete.
    var valueMetadata: [ListenerID: TreeEventMetadata] = [:]
    private(set) var holders: Set<QueryHolder> = []

    /// A view of what the server is known to have at the location.
    init(
        _ query: QuerySpec, number: Int, tag: Int?, server: CachedNode, writes: VisibleWrites
    ) {
        self.query = query
        self.number = number
        self.tag = tag
        filter = ViewFilter(parameters: query.parameters)
        self.server = server
        let content =
            server.isFiltered
            ? writes.completeNode : writes.completeNode(over: server.isComplete ? server.node : nil)
        shown = CachedNode(
            .empty, isComplete: content != nil || server.isComplete, isFiltered: filter.selects)
        shown.node = filter.selection(of: content ?? knownChildren(writes))
        noteCertainty(writes)
    }

    /// The data known outside a view while an operation is applied to it.
    struct Context {
        /// The visible pending writes at the location.
        let writes: VisibleWrites
        /// The location's content as another view has it from the server.
        let known: Node?
        /// True if that view loads all data at the location or above it: then it is the authority
        /// for this one, and known is not nil.
        let isCovered: Bool
    }
}

// MARK: - Listeners and holders

extension QueryView {
    var isUnused: Bool { listeners.isEmpty && holders.isEmpty }

    /// Adds a listener.
    mutating func add(_ listener: Listener) {
        let position = listeners.partitioningIndex { $0.id >= listener.id }
        listeners.insert(listener, at: position)
    }

    /// Removes a listener; does nothing if it is not there.
    mutating func remove(_ id: ListenerID) {
        let position = listeners.partitioningIndex { $0.id >= id }
        if position < listeners.count, listeners[position].id == id {
            listeners.remove(at: position)
            valueMetadata[id] = nil
        }
    }

    mutating func removeAllListeners() {
        listeners = []
        valueMetadata = [:]
    }

    mutating func add(_ holder: QueryHolder) {
        holders.insert(holder)
    }

    mutating func remove(_ holder: QueryHolder) {
        holders.remove(holder)
    }
}

extension Array {
    /// The index of the first element that a predicate accepts, if it accepts all after that.
    func partitioningIndex(where accepts: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if accepts(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
