import LarderRealtimeModel

/// Running updates, and keeping their outputs among the pending writes.
extension Transactions {
    /// Runs the updates that can be run, and sends what is ready.
    mutating func advance(_ tree: inout SyncTree) {
        for id in unresolved.sorted() {
            guard let transaction = transactions[id], case .waiting = transaction.state,
                !isBlocked(transaction)
            else { continue }
            if transaction.attempts >= Self.maximumAttempts {
                end([id], .failed(.transactionRetriesExhausted), &tree)
                continue
            }
            let input = input(of: id, tree)
            if let result = transaction.result, !result.isStale, result.input == input {
                keepResult(result, of: id, &tree)
            } else {
                transactions[id]?.state = .running(input)
                effects.append(.run(id, input))
            }
        }
        if !sendCandidates(&tree) { advance(&tree) }
    }

    /// True if an earlier transaction at the path, above or below has no output yet.
    func isBlocked(_ transaction: RunningTransaction) -> Bool {
        unresolved.contains { id in
            guard id < transaction.id, let path = transactions[id]?.path else { return false }
            return path.isAncestorOrEqual(of: transaction.path)
                || transaction.path.isAncestor(of: path)
        }
    }

    /// Runs the update again, unless there is none.
    mutating func wait(_ id: TransactionID) {
        guard let transaction = transactions[id] else { return }
        if transaction.hasUpdate {
            transactions[id]?.state = .waiting
            unresolved.insert(id)
        } else {
            transactions[id]?.state = .parked
            effects.append(.requestUpdate(id, transaction.path))
        }
    }

    /// The data that an update is given: with the outputs of transactions before it, and without
    /// those of later ones.
    func input(of id: TransactionID, _ tree: SyncTree) -> Node {
        guard let path = transactions[id]?.path else { return .empty }
        let later = overlapping(path, from: id).filter { transactions[$0]?.isSent != true }
        return tree.latestNode(
            at: path, onlyComplete: true,
            excluding: Set(later.compactMap { transactions[$0]?.result?.write }),
            withForeign: false)
    }

    mutating func replaceResult(
        of id: TransactionID, _ input: Node, _ output: Node, _ tree: inout SyncTree
    ) {
        guard let transaction = transactions[id] else { return }
        // The new output is shown before the old one is removed, so that no listener sees the data
        // without either.
        let write = tree.newWriteID()
        var events = show(output, of: transaction, as: write, &tree)
        if let old = transaction.result?.write { events += tree.revert(old) }
        if !events.isEmpty { effects.append(.deliver(events)) }
        let baseHash = input.hash
        transactions[id]?.result = RunningTransaction.Result(
            input: input, baseHash: baseHash, output: output, write: write)
        transactions[id]?.state = .ready
        unresolved.remove(id)
        candidates.insert(transaction.path)
        effects.append(
            .save(
                SavedTransaction(
                    id, at: transaction.path, baseHash: baseHash, output: output,
                    isVisible: transaction.isVisible)))
    }

    /// The data is what the update was given already; its output stays, after those of earlier
    /// transactions.
    mutating func keepResult(
        _ result: RunningTransaction.Result, of id: TransactionID, _ tree: inout SyncTree
    ) {
        guard let transaction = transactions[id] else { return }
        transactions[id]?.state = .ready
        unresolved.remove(id)
        candidates.insert(transaction.path)
        let isHidden = overlapping(transaction.path).contains {
            $0 < id && transactions[$0]?.result.map { $0.write > result.write } ?? false
        }
        guard isHidden else { return }
        let write = tree.newWriteID()
        let events =
            show(result.output, of: transaction, as: write, &tree) + tree.revert(result.write)
        if !events.isEmpty { effects.append(.deliver(events)) }
        transactions[id]?.result?.write = write
    }

    func show(
        _ output: Node, of transaction: RunningTransaction, as write: WriteID,
        _ tree: inout SyncTree
    ) -> [TreeEvent] {
        tree.write(
            PendingWrite(
                write, at: transaction.path, .overwrite(output), isVisible: transaction.isVisible),
            isSaved: false, at: time)
    }
}
