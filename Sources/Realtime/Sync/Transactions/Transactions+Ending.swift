import LarderRealtimeModel

/// The beginning and the end of transactions.
extension Transactions {
    mutating func commit(_ ids: [TransactionID], _ tree: inout SyncTree) {
        var events: [TreeEvent] = []
        var completions: [Effect] = []
        for id in ids {
            guard let transaction = transactions[id], let result = transaction.result else {
                continue
            }
            let output = tree.output(of: result)
            events += tree.acknowledge(result.write)
            completions += [.complete(id, .committed(output)), .forget(id)]
            remove(transaction, &tree)
        }
        if !events.isEmpty { effects.append(.deliver(events)) }
        effects += completions
    }

    mutating func end(
        _ ids: [TransactionID], _ outcome: Outcome, _ tree: inout SyncTree
    ) {
        var events: [TreeEvent] = []
        var completions: [Effect] = []
        for id in ids {
            guard let transaction = transactions[id] else { continue }
            if let result = transaction.result {
                events += tree.revert(result.write)
                completions.append(.forget(id))
            }
            completions.append(.complete(id, outcome))
            remove(transaction, &tree)
        }
        if !events.isEmpty { effects.append(.deliver(events)) }
        effects += completions
    }

    mutating func insert(_ transaction: RunningTransaction) {
        transactions[transaction.id] = transaction
        paths.update(at: transaction.path) { tree in
            tree.updateValue { ids in
                let place = ids?.partitioningIndex { $0 >= transaction.id } ?? 0
                if ids == nil { ids = [] }
                ids?.insert(transaction.id, at: place)
            }
        }
    }

    /// Removes a transaction; those that waited for it may be run or sent.
    mutating func remove(_ transaction: RunningTransaction, _ tree: inout SyncTree) {
        transactions[transaction.id] = nil
        unresolved.remove(transaction.id)
        paths.update(at: transaction.path) { tree in
            tree.updateValue { ids in
                if let place = ids?.firstIndex(of: transaction.id) { ids?.remove(at: place) }
                if ids?.isEmpty == true { ids = nil }
            }
        }
        candidates.insert(transaction.path)
        tree.release(QuerySpec(transaction.path), for: .transaction(transaction.id))
    }

    /// The transactions at a path, above it and below it, in the order in which they were started.
    ///
    /// - Parameter first: where to begin.
    func overlapping(
        _ path: TreePath, from first: TransactionID = TransactionID(.min)
    ) -> [TransactionID] {
        var found: [TransactionID] = []
        func add(_ ids: [TransactionID]) {
            found += ids[ids.partitioningIndex { $0 >= first }...]
        }
        paths.visit(along: path) { depth, ids in
            if depth < path.count { add(ids) }
            return true
        }
        paths.subtree(at: path)?.forEach { _, ids in add(ids) }
        return found.sorted()
    }
}

extension SyncTree {
    /// The output of a transaction, with its server values resolved.
    func output(of result: RunningTransaction.Result) -> Node {
        writes[result.write]?.values.first?.node ?? result.output
    }
}
