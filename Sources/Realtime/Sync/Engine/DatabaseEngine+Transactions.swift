import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

/// A transaction's parts beside its data.
struct TransactionWork {
    /// Nil for a transaction of an earlier run.
    var update: TransactionUpdate?
    /// Nil for a transaction of an earlier run.
    let completion: Completion<TransactionOutcome>?
    /// When it was started, by the local clock.
    let time: Timestamp
    /// Its stored form.
    var saved: SavedTransaction?
}

extension DatabaseEngine {
    func runTransaction(
        at path: TreePath, localEvents: Bool, _ update: @escaping TransactionUpdate,
        _ completion: @escaping Completion<TransactionOutcome>
    ) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        if isLocalOnly(path) { return runTransactionLocally(at: path, update, completion) }
        let id = newTransactionID()
        transactionWork[id] = TransactionWork(
            update: update, completion: completion, time: configuration.clock())
        forgetEvicted()
        do throws(LarderError) {
            try transactions.start(id, at: path, isVisible: localEvents, &tree)
            performTransactions()
        } catch {
            transactionWork[id] = nil
            call(later: { completion(.failure(error)) })
        }
        outboxChanged()
    }

    /// A number above those of all writes and transactions before it.
    private func newTransactionID() -> TransactionID {
        TransactionID(tree.newWriteID().rawValue)
    }

    // MARK: Effects

    /// Does what the transactions ask for.
    func performTransactions() {
        while true {
            let effects = transactions.takeEffects()
            if effects.isEmpty { return }
            for effect in effects { perform(effect) }
        }
    }

    private func perform(_ effect: Transactions.Effect) {
        switch effect {
        case .deliver(let events): deliver(later: events)
        case .run(let id, let node): run(id, node)
        case .put(let put, let path, let node, let hash):
            let place = outbox.add(
                RequestOutbox.Entry(.put(path, node, hash: hash), isSentOnce: true))
            outboxWork[place] = .transactions(put, name: name(of: put))
        case .complete(let id, let outcome): complete(id, outcome)
        case .save(let saved):
            transactionWork[saved.id]?.saved = saved
            if let time = transactionWork[saved.id]?.time { disk.save(saved, time) }
        case .forget(let id): disk.forget(id)
        case .requestUpdate(let id, let path): requestUpdate(of: id, at: path)
        }
    }

    /// The name of a put, by which a server of ours makes it once.
    ///
    /// The put's number is unique in this run. No write's name begins with a letter.
    private func name(of put: TransactionPutID) -> String {
        "t\(put.rawValue)-\(disk.writeNames.run)"
    }

    private func run(_ id: TransactionID, _ node: Node) {
        guard let update = transactionWork[id]?.update else { return }
        let result: Transactions.UpdateResult
        do throws(LarderError) {
            let output = try update(node)
            if let output, let path = transactions.path(of: id) {
                _ = try cacheRules.isLocalOnly([PathValue(path, output)])
            }
            result = output.map { .output($0) } ?? .abort
        } catch {
            result = .failure(error)
        }
        transactions.updated(id, result, &tree)
    }

    private func complete(_ id: TransactionID, _ outcome: Transactions.Outcome) {
        guard let work = transactionWork.removeValue(forKey: id) else { return }
        outboxChanged()
        let result: Result<TransactionOutcome, LarderError>
        switch outcome {
        case .committed(let node):
            disk.noteAccepted(id.rawValue)
            result = .success(TransactionOutcome(isCommitted: true, node: node))
        case .aborted(let node):
            result = .success(TransactionOutcome(isCommitted: false, node: node))
        case .failed(let error):
            result = .failure(error)
            if work.completion == nil { bury(work, error) }
        }
        if let completion = work.completion { call(later: { completion(result) }) }
    }

    /// Keeps a transaction of an earlier run that has failed, since no completion tells of it.
    private func bury(_ work: TransactionWork, _ error: LarderError) {
        guard let saved = work.saved else { return }
        log("a transaction of an earlier run at \(saved.path) has failed: \(error.message)")
        bury(
            DeadWrite(
                id: WriteID(saved.id.rawValue), request: .overwrite(saved.path, saved.output),
                error: error, writeTime: work.time, refusalTime: configuration.clock()))
    }

    // MARK: Events

    /// The server's data at a path has changed: transactions that are based on it are run again.
    func dataChanged(at path: TreePath) {
        transactions.dataChanged(at: path, &tree)
        performTransactions()
    }

    /// A write overrides the transactions at its paths.
    func overrideTransactions(by request: WriteRequest) {
        for path in request.paths { overrideTransactions(at: path) }
    }

    func overrideTransactions(at path: TreePath) {
        let error = LarderError(
            realtime: .aborted, "the transaction was overridden by a write to \(path)")
        transactions.override(at: path, error, &tree)
        performTransactions()
    }

    /// The server has answered the put of transactions.
    func settle(_ put: TransactionPutID, _ response: RealtimeResponse) {
        let answer: Transactions.Answer =
            switch response.status {
            case .ok: .accepted
            case .dataStale: .stale
            default: .refused(response.error)
            }
        transactions.answered(put, answer, &tree)
        performTransactions()
    }

    /// A put of transactions was sent, whose fate is unknown and stays so.
    func loseTransactions(_ put: TransactionPutID) {
        transactions.answered(put, .refused(.disconnected), &tree)
        performTransactions()
    }
}

extension LarderError {
    /// The connection has ended while a transaction was on its way.
    fileprivate static var disconnected: LarderError {
        LarderError(
            realtime: .unknown,
            "the client was disconnected while a transaction was running, which may have been "
                + "applied")
    }
}

// MARK: - Transactions of an earlier run

extension DatabaseEngine {
    /// Shows and queues a transaction of an earlier run; one that was sent may have been applied,
    /// and ends.
    func restore(_ saved: SavedTransaction, _ time: Timestamp, wasSent: Bool) {
        var work = TransactionWork(completion: nil, time: time)
        work.saved = saved
        if wasSent {
            disk.forget(saved.id)
            return bury(work, .disconnected)
        }
        transactionWork[saved.id] = work
        forgetEvicted()
        do throws(LarderError) {
            try transactions.restore(saved, &tree)
            performTransactions()
        } catch {
            transactionWork[saved.id] = nil
            bury(work, error)
        }
    }

    /// Limits the time that transactions of an earlier run wait for an update.
    func awaitTransactionHandlers() {
        let count = transactionWork.values.count { $0.completion == nil }
        guard count > 0 else {
            hasHandlerWaitEnded = true
            return
        }
        log("\(count) transactions of an earlier run are pending")
        hasHandlerWaitEnded = false
        setTimer(.transactionHandlers, after: configuration.transactionHandlerWait) {
            $0.endHandlerWait()
        }
    }

    private func endHandlerWait() {
        hasHandlerWaitEnded = true
        for id in transactions.parkedTransactions { abandon(id) }
    }

    private func abandon(_ id: TransactionID) {
        let error = LarderError(
            realtime: .aborted,
            "the data has changed, and no update was registered for a transaction of an earlier "
                + "run; see resumeTransactions")
        transactions.abandon(id, error, &tree)
        performTransactions()
    }

    /// Registers the update for the transactions that an earlier run has left at a location.
    func resumeTransactions(at path: TreePath, _ update: @escaping TransactionUpdate) {
        guard !isTerminated else { return }
        resumedUpdates[path] = update
        for (id, work) in transactionWork.sorted(by: { $0.key < $1.key })
        where work.completion == nil && work.saved?.path == path {
            give(update, to: id)
        }
    }

    private func requestUpdate(of id: TransactionID, at path: TreePath) {
        if let update = resumedUpdates[path] {
            give(update, to: id)
        } else if hasHandlerWaitEnded {
            abandon(id)
        }
    }

    private func give(_ update: @escaping TransactionUpdate, to id: TransactionID) {
        transactionWork[id]?.update = update
        transactions.updateGiven(id, &tree)
        performTransactions()
    }
}

extension Transactions {
    /// The transactions that were sent in a put.
    func sentTransactions(_ put: TransactionPutID) -> [TransactionID] { puts[put] ?? [] }

    /// True if the output of a transaction was handed to the outbox.
    func isSent(_ id: TransactionID) -> Bool { transactions[id]?.isSent ?? false }

    /// The transactions of an earlier run that cannot go on without an update.
    var parkedTransactions: [TransactionID] {
        transactions.values.filter { if case .parked = $0.state { true } else { false } }
            .map(\.id).sorted()
    }
}
