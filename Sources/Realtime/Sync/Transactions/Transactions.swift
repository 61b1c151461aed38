package import LarderRealtimeModel

/// The number of a put that transactions are sent in.
package struct TransactionPutID: Hashable, Sendable {
    package let rawValue: Int64
}

/// The transactions of a database: when their updates are run, what is shown of their outputs, and
/// what the server is asked to accept.
///
/// ```
///             run              output               put                ok
///   waiting -------> running ----------> ready -----------> sent ------------> (committed)
///    ^  ^               |                  |                  |
///    |  +--- stale -----+                  |                  |
///    +---------- new data at the path -----+                  |
///    +---------------------- data is stale -------------------+
///
///   A conflicting write ends a transaction, a sent one only if the server has not accepted it.
///   A transaction of an earlier run has no update: when its data is stale it is parked, until an
///   update is given or it is abandoned.
/// ```
///
/// A pure machine beside the ``SyncTree``, which each event is given. The owner sets ``time``,
/// reports an event and performs the effects that ``takeEffects()`` returns, in order. Updates are
/// run by the owner, one after the other or at once; the results come back as events. Transactions
/// at the same location, or one above the other, run in the order in which they were started, each
/// on the output of those before it.
package struct Transactions: Sendable {
    /// An effect that the owner performs.
    package enum Effect: Sendable {
        /// Pass events on.
        case deliver([TreeEvent])
        /// Call the update with the present data; the result comes back to
        /// ``Transactions/updated(_:_:_:)``.
        case run(TransactionID, Node)
        /// Ask the server to replace a node if its hash is still the same; the answer comes back
        /// to ``Transactions/answered(_:_:_:)``.
        case put(TransactionPutID, TreePath, Node, hash: String)
        /// The transaction has ended.
        case complete(TransactionID, Outcome)
        /// Store the transaction in place of what was stored of it.
        case save(SavedTransaction)
        /// Remove what was stored of the transaction.
        case forget(TransactionID)
        /// The transaction cannot go on without an update: give one, or abandon it.
        case requestUpdate(TransactionID, TreePath)
    }

    /// How a transaction has ended.
    package enum Outcome: Sendable {
        /// The server has the output.
        case committed(Node)
        /// The update returned nothing for this input.
        case aborted(Node)
        /// It was not accepted, or overridden by another write.
        case failed(LarderError)
    }

    /// The outcome of an update.
    package enum UpdateResult: Sendable {
        case output(Node)
        case abort
        case failure(LarderError)
    }

    /// The server's answer to a put.
    package enum Answer: Sendable {
        case accepted
        /// The node is not what the hash says.
        case stale
        case refused(LarderError)
    }

    /// How often an output is sent, or found to be out of date, before the transaction fails.
    package static let maximumAttempts = 25

    /// The server's estimated time, in milliseconds since the Unix epoch.
    package var time: Int64 = 0

    var transactions: [TransactionID: RunningTransaction] = [:]
    /// The transactions at each path, in the order in which they were started.
    var paths = PathTree<[TransactionID]>()
    /// Transactions whose update is to be run, or is running.
    var unresolved: Set<TransactionID> = []
    /// Places at, above or below which transactions may be ready to be sent.
    var candidates: Set<TreePath> = []
    var puts: [TransactionPutID: [TransactionID]] = [:]
    var lastPut: Int64 = 0
    var effects: [Effect] = []

    package init() {}

    /// The count of transactions that have not ended.
    package var count: Int { transactions.count }

    /// The location of a transaction; nil once it has ended.
    func path(of id: TransactionID) -> TreePath? { transactions[id]?.path }

    /// Takes what is to be done since the last call.
    package mutating func takeEffects() -> [Effect] {
        defer { effects = [] }
        return effects
    }
}

// MARK: - Events

extension Transactions {
    /// A transaction was started.
    ///
    /// - Parameters:
    ///   - id: above that of every earlier transaction.
    ///   - isVisible: true if listeners see the output before the server has accepted it.
    /// - Throws: an error of the cache; the transaction was not started then.
    package mutating func start(
        _ id: TransactionID, at path: TreePath, isVisible: Bool, _ tree: inout SyncTree
    ) throws(LarderError) {
        try tree.hold(QuerySpec(path), for: .transaction(id))
        insert(RunningTransaction(id: id, path: path, isVisible: isVisible, hasUpdate: true))
        unresolved.insert(id)
        advance(&tree)
    }

    /// A transaction of an earlier run is there again, without its update.
    ///
    /// Its number is that of its output among the pending writes, which are restored in their
    /// order.
    ///
    /// - Throws: an error of the cache; the transaction was not restored then.
    package mutating func restore(
        _ saved: SavedTransaction, _ tree: inout SyncTree
    ) throws(LarderError) {
        try tree.hold(QuerySpec(saved.path), for: .transaction(saved.id))
        var transaction = RunningTransaction(
            id: saved.id, path: saved.path, isVisible: saved.isVisible, hasUpdate: false)
        let write = WriteID(saved.id.rawValue)
        effects.append(.deliver(show(saved.output, of: transaction, as: write, &tree)))
        transaction.result = RunningTransaction.Result(
            input: nil, baseHash: saved.baseHash, output: saved.output, write: write)
        transaction.state = .ready
        insert(transaction)
        candidates.insert(saved.path)
        advance(&tree)
    }

    /// There is an update for a transaction of an earlier run.
    package mutating func updateGiven(_ id: TransactionID, _ tree: inout SyncTree) {
        transactions[id]?.hasUpdate = true
        if case .parked = transactions[id]?.state { wait(id) }
        advance(&tree)
    }

    /// A transaction of an earlier run is not to go on.
    package mutating func abandon(
        _ id: TransactionID, _ error: LarderError, _ tree: inout SyncTree
    ) {
        end([id], .failed(error), &tree)
        advance(&tree)
    }

    /// An update has returned.
    package mutating func updated(
        _ id: TransactionID, _ result: UpdateResult, _ tree: inout SyncTree
    ) {
        // A transaction that ended in the meantime, or was sent by an earlier run.
        guard case .running(let input) = transactions[id]?.state else { return }
        switch result {
        case .abort: end([id], .aborted(input), &tree)
        case .failure(let error): end([id], .failed(error), &tree)
        case .output(let output):
            if input == self.input(of: id, tree) {
                replaceResult(of: id, input, output, &tree)
            } else {
                transactions[id]?.attempts += 1
                wait(id)
            }
        }
        advance(&tree)
    }

    /// The server has answered a put.
    package mutating func answered(
        _ put: TransactionPutID, _ answer: Answer, _ tree: inout SyncTree
    ) {
        let sent = (puts.removeValue(forKey: put) ?? []).filter { transactions[$0] != nil }
        switch answer {
        case .accepted: commit(sent, &tree)
        case .refused(let error): end(sent, .failed(error), &tree)
        case .stale:
            for id in sent {
                if case .sentLast(_, let error) = transactions[id]?.state {
                    end([id], .failed(error), &tree)
                } else {
                    wait(id)
                }
            }
        }
        advance(&tree)
    }

    /// The server's data at a path has changed.
    package mutating func dataChanged(at path: TreePath, _ tree: inout SyncTree) {
        if transactions.isEmpty { return }
        for id in overlapping(path) where transactions[id]?.isReady == true {
            // The output of an earlier run stands until the server refuses it.
            if transactions[id]?.result?.input != nil { wait(id) }
        }
        advance(&tree)
    }

    /// A write was applied that overrides the transactions at its path, above and below.
    ///
    /// - Parameter error: what they end with.
    package mutating func override(
        at path: TreePath, _ error: LarderError, _ tree: inout SyncTree
    ) {
        if transactions.isEmpty { return }
        var overridden: [TransactionID] = []
        for id in overlapping(path) {
            switch transactions[id]?.state {
            case .sent(let put): transactions[id]?.state = .sentLast(put, error)
            case .sentLast, nil: break
            case .waiting, .running, .ready, .parked: overridden.append(id)
            }
        }
        end(overridden, .failed(error), &tree)
        advance(&tree)
    }

    /// All transactions are cancelled; answers to what was sent are ignored.
    package mutating func cancelAll(_ error: LarderError, _ tree: inout SyncTree) {
        end(transactions.keys.sorted(), .failed(error), &tree)
        puts = [:]
    }
}

extension LarderError {
    /// The data has changed again each time a transaction was tried.
    package static var transactionRetriesExhausted: LarderError {
        LarderError(
            realtime: .aborted,
            "the transaction was given up after \(Transactions.maximumAttempts) attempts: its data "
                + "kept changing")
    }
}
