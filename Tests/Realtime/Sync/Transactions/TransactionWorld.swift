import LarderRealtimeModel
import LarderRealtimeSync

/// Transactions over a sync tree and a server that answers on request.
struct TransactionWorld {
    typealias Update = (Node) -> Transactions.UpdateResult

    var tree = SyncTree()
    var transactions = Transactions()
    /// The server's tree.
    var server = Node.empty
    /// The puts that are not answered, in order.
    private(set) var puts: [Put] = []
    private(set) var outcomes: [TransactionID: Transactions.Outcome] = [:]
    private(set) var saved: [TransactionID: SavedTransaction] = [:]
    private(set) var requested: [TransactionID] = []
    /// The inputs that updates were given, in order.
    private(set) var inputs: [Node] = []
    /// What happened, in order, for tests of that order.
    private(set) var trace: [String] = []
    private var updates: [TransactionID: Update] = [:]
    private var last: Int64 = 0
    private var nextListener: UInt = 1

    struct Put {
        let id: TransactionPutID
        let path: TreePath
        let node: Node
        let hash: String
    }

    /// Starts a transaction.
    @discardableResult
    mutating func start(
        _ path: String, isVisible: Bool = true, _ update: @escaping Update
    ) throws -> TransactionID {
        last += 1
        let id = TransactionID(last)
        updates[id] = update
        try transactions.start(id, at: TreePath(path), isVisible: isVisible, &tree)
        perform()
        return id
    }

    /// Starts a transaction that adds to a number.
    @discardableResult
    mutating func increment(_ path: String, isVisible: Bool = true) throws -> TransactionID {
        try start(path, isVisible: isVisible) { .output($0.plusOne) }
    }

    mutating func restore(_ transaction: SavedTransaction) throws {
        last = max(last, transaction.id.rawValue)
        try transactions.restore(transaction, &tree)
        perform()
    }

    mutating func give(_ id: TransactionID, _ update: @escaping Update) {
        updates[id] = update
        transactions.updateGiven(id, &tree)
        perform()
    }

    /// Adds a listener whose events are traced.
    mutating func listen(_ path: String) throws {
        let listener = Listener(ListenerID(nextListener), [.value])
        nextListener += 1
        trace(try tree.listen(to: QuerySpec(TreePath(path)), listener))
    }

    /// The server sends its data for a location.
    mutating func send(_ path: String) {
        let path = TreePath(path)
        trace(tree.serverOverwrite(path, server.node(at: path)))
        transactions.dataChanged(at: path, &tree)
        perform()
    }

    /// The user writes.
    mutating func set(_ path: String, _ node: Node) {
        let path = TreePath(path)
        trace(tree.write(PendingWrite(tree.newWriteID(), at: path, .overwrite(node)), at: 0))
        transactions.override(at: path, .overridden, &tree)
        perform()
    }

    /// The server answers the oldest put: it is accepted if the hash is that of its data, which it
    /// sends first.
    mutating func answer() {
        guard !puts.isEmpty else { return }
        let put = puts.removeFirst()
        let isCurrent = server.node(at: put.path).hash == put.hash
        if isCurrent { server = server.setting(put.path, to: put.node) }
        trace(tree.serverOverwrite(put.path, server.node(at: put.path)))
        transactions.dataChanged(at: put.path, &tree)
        answer(put, isCurrent ? .accepted : .stale)
    }

    /// The server answers the oldest put with an error.
    mutating func refuse(_ error: LarderError) {
        guard !puts.isEmpty else { return }
        answer(puts.removeFirst(), .refused(error))
    }

    mutating func answer(_ put: Put, _ answer: Transactions.Answer) {
        transactions.answered(put.id, answer, &tree)
        perform()
    }

    mutating func perform() {
        while true {
            let effects = transactions.takeEffects()
            if effects.isEmpty { return }
            for effect in effects { perform(effect) }
        }
    }

    private mutating func perform(_ effect: Transactions.Effect) {
        switch effect {
        case .deliver(let events): trace(events)
        case .run(let id, let node):
            inputs.append(node)
            if let update = updates[id] { transactions.updated(id, update(node), &tree) }
        case .put(let id, let path, let node, let hash):
            puts.append(Put(id: id, path: path, node: node, hash: hash))
        case .complete(let id, let outcome):
            outcomes[id] = outcome
            trace.append("complete \(id.rawValue)")
        case .save(let transaction): saved[transaction.id] = transaction
        case .forget(let id): saved[id] = nil
        case .requestUpdate(let id, _): requested.append(id)
        }
    }

    private mutating func trace(_ events: [TreeEvent]) {
        for event in events {
            if case .value(let node) = event.change { trace.append("value \(node)") }
        }
    }

    /// The data of a location with pending writes.
    func shown(_ path: String) -> Node? { tree.value(of: QuerySpec(TreePath(path))) }

    func committed(_ id: TransactionID) -> Node? {
        guard case .committed(let node) = outcomes[id] else { return nil }
        return node
    }

    func failure(_ id: TransactionID) -> LarderError? {
        guard case .failed(let error) = outcomes[id] else { return nil }
        return error
    }
}

extension Node {
    var plusOne: Node {
        guard case .number(let number)? = leafValue else { return Node(.integer(1)) }
        return Node(.number(number.adding(LeafNumber(1 as Int64))))
    }
}

extension LarderError {
    static var overridden: LarderError { LarderError(realtime: .aborted, "set") }
}
