import LarderRealtimeModel

/// Sending outputs: all those at and below one path in one put.
extension Transactions {
    /// Sends what is ready.
    ///
    /// - Returns: false if transactions turned out to be out of date, whose updates are run again.
    mutating func sendCandidates(_ tree: inout SyncTree) -> Bool {
        let places = Set(candidates.flatMap { outermostPaths(around: $0) })
        candidates = []
        return places.sorted().reduce(true) { send(at: $1, &tree) && $0 }
    }

    /// The outermost path with transactions at a place or above it, or all outermost ones below.
    private func outermostPaths(around place: TreePath) -> [TreePath] {
        var outermost: TreePath?
        paths.visit(along: place) { depth, _ in
            outermost = place.prefix(depth)
            return false
        }
        if let outermost { return [outermost] }
        return paths.subtree(at: place)?.outermostPaths.map { place.appending($0) } ?? []
    }

    /// Sends all transactions at and below a path in one put, if all are ready.
    ///
    /// - Returns: false if some are out of date.
    private mutating func send(at path: TreePath, _ tree: inout SyncTree) -> Bool {
        let queue = overlapping(path).compactMap { transactions[$0] }
        guard let first = queue.first, queue.allSatisfy(\.isReady) else { return true }
        // A transaction of an earlier run is sent alone: of what its update was given only the hash
        // is known.
        if let result = first.result, result.input == nil {
            send([first], at: first.path, result.output, hash: result.baseHash)
            return true
        }
        let sent = queue.prefix { $0.result?.input != nil }
        let excluded = Set(queue.compactMap { $0.result?.write })
        func latestNode(at path: TreePath) -> Node {
            tree.latestNode(
                at: path, onlyComplete: true, excluding: excluded, withForeign: false)
        }
        let base = latestNode(at: path)
        var (node, present, isCurrent) = (base, base, true)
        // Of a path below all may be known where the path itself is not.
        for transaction in sent where transaction.path != path {
            present = present.setting(
                transaction.path.dropFirst(path.count), to: latestNode(at: transaction.path))
        }
        for transaction in sent {
            guard let result = transaction.result else { continue }
            let rest = transaction.path.dropFirst(path.count)
            if present.node(at: rest) != result.input {
                transactions[transaction.id]?.result?.isStale = true
                transactions[transaction.id]?.attempts += 1
                wait(transaction.id)
                isCurrent = false
            }
            node = node.setting(rest, to: result.output)
            present = present.setting(rest, to: tree.output(of: result))
        }
        if isCurrent { send(Array(sent), at: path, node, hash: base.hash) }
        return isCurrent
    }

    private mutating func send(
        _ sent: [RunningTransaction], at path: TreePath, _ node: Node, hash: String
    ) {
        lastPut += 1
        let put = TransactionPutID(rawValue: lastPut)
        puts[put] = sent.map(\.id)
        for transaction in sent {
            transactions[transaction.id]?.state = .sent(put)
            transactions[transaction.id]?.attempts += 1
        }
        effects.append(.put(put, path, node, hash: hash))
    }
}
