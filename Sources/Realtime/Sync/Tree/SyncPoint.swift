import LarderRealtimeModel

/// How far the server keeps a location's or a window's data up to date.
enum ListenState: Sendable {
    /// There is no listen: no view needs one, or one above covers them.
    case none
    /// A listen is wanted; the server has not answered it on the present connection.
    case requested
    /// The server has sent all of the data on the present connection; its answer follows.
    case received
    /// The server has sent the data, and sends each change.
    case current

    /// True if the server has sent or confirmed the data on the present connection.
    var isConfirmed: Bool { self == .received || self == .current }
}

/// The views at one location.
struct SyncPoint: Sendable {
    /// Views that load all data, one for each order.
    private var plain: [QueryParameters: QueryView] = [:]
    private var filtered: [QueryParameters: QueryView] = [:]
    /// The listen that all plain views share.
    var plainListen = ListenState.none

    var isEmpty: Bool { plain.isEmpty && filtered.isEmpty }

    /// True if a view loads all data.
    var hasPlainView: Bool { !plain.isEmpty }

    /// The views, plain ones first, each kind in the order in which they were added.
    var views: [QueryView] {
        [plain, filtered].flatMap { $0.values.sorted { $0.number < $1.number } }
    }

    /// The filtered views in the order in which they were added.
    var filteredViews: [QueryView] { filtered.values.sorted { $0.number < $1.number } }

    /// The view of a query; nil if there is none.
    subscript(parameters: QueryParameters) -> QueryView? {
        get { parameters.loadsAllData ? plain[parameters] : filtered[parameters] }
        set {
            if parameters.loadsAllData {
                plain[parameters] = newValue
            } else {
                filtered[parameters] = newValue
            }
        }
    }

    /// True if a view has the data of a query, in whatever order.
    func uses(_ parameters: QueryParameters) -> Bool {
        parameters.loadsAllData ? hasPlainView : filtered[parameters] != nil
    }

    /// Changes the view of a query in place; does nothing if there is none.
    mutating func update(_ parameters: QueryParameters, _ change: (inout QueryView) -> Void) {
        if parameters.loadsAllData {
            if let place = plain.index(forKey: parameters) { change(&plain.values[place]) }
        } else {
            if let place = filtered.index(forKey: parameters) { change(&filtered.values[place]) }
        }
    }

    /// Changes each view in place, in the order of ``views``.
    mutating func updateViews(_ change: (inout QueryView) -> Void) {
        for parameters in parameters { update(parameters, change) }
    }

    private var parameters: [QueryParameters] {
        if plain.count + filtered.count == 1 { return Array(plain.keys) + Array(filtered.keys) }
        return views.map(\.query.parameters)
    }

    /// The content of the location, if a plain view has it from the server.
    var plainServerNode: Node? {
        plain.values.first { $0.server.isComplete }?.server.node
    }

    /// The content of the location, or of one below it, if a view has it from the server.
    func serverNode(at path: TreePath) -> Node? {
        if let node = plainServerNode { return node.node(at: path) }
        guard let key = path.first else { return nil }
        return filtered.values.filter { $0.server.isComplete && $0.server.node.hasChild(key) }
            .min { $0.number < $1.number }?.server.node.node(at: path)
    }
}
