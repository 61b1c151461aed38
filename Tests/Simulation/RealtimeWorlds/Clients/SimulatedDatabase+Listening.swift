import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

extension SimulatedDatabase {
    /// Listens to a query from now on.
    @discardableResult
    func listen(to query: QuerySpec) -> TreeListener? {
        guard let client else { return nil }
        let listener = TreeListener(nextListener(), query, client: number, journal)
        journal.note("client \(number) listens to \(query.text) as \(listener.id.rawValue)")
        listeners.append(listener)
        client.listen(
            to: query, Listener(listener.id, Set(TreeEventType.allCases))
        ) { [weak listener] in listener?.receive($0) }
        return listener
    }

    /// Ends a listener.
    func remove(_ listener: TreeListener) {
        journal.note("client \(number) ends listener \(listener.id.rawValue)")
        listeners.removeAll { $0 === listener }
        client?.removeListener(listener.id, from: listener.query)
        // Served in the same order.
        client?.usage { _ in listener.isOver = true }
    }

    func keepSynced(_ query: QuerySpec, _ isKept: Bool) {
        journal.note("client \(number) keeps \(query.text): \(isKept)")
        if isKept { keptQueries.append(query) } else { keptQueries.removeAll { $0 == query } }
        client?.keepSynced(query, isKept)
    }

    /// Reads a query once.
    func get(_ query: QuerySpec) {
        journal.note("client \(number) gets \(query.text)")
        client?.get(query) { [weak self] result in
            guard let self, case .success(let answer) = result else { return }
            journal.note("client \(number) got \(answer.node) \(answer.metadata)")
            if answer.metadata.isFromCache { return journal.note(.cachedAnswer) }
            guard !answer.metadata.hasPendingWrites else { return }
            journal.expect(
                ledger.versions.contains {
                    query.parameters.filtered($0.node(at: query.path)) == answer.node
                },
                "client \(number) got \(answer.node) for \(query.text), which the server never had")
        }
    }

    /// Evicts what nothing needs.
    func evict() {
        client?.evict(toBytes: 0) { [journal, number] result in
            if case .success(let eviction) = result {
                journal.note(.evicted, "client \(number): \(eviction)")
            }
        }
    }

    // MARK: What must agree

    private func hasOpenTransaction(at path: TreePath) -> Bool {
        queuedTransactions.contains { $0.overlaps(path) }
            || transactions.values.contains {
                $0.outcome == nil && !$0.isOrphan && $0.path.overlaps(path)
            }
    }

    /// The pending writes that concern a location, in order.
    private func overlay(of path: TreePath) -> [WriteRequest] {
        queue.filter(\.isPending).compactMap(\.write).filter { write in
            write.values.contains { $0.path.overlaps(path) }
        }
    }

    /// What a listener shows is a tree that the server had with the pending writes, and no earlier
    /// one than it has shown.
    func compare(_ listener: TreeListener) {
        let query = listener.query
        guard let value = listener.value, listener.metadata?.isFromCache == false,
            !hasOpenTransaction(at: query.path)
        else { return }
        let overlay = overlay(of: query.path)
        // What is beyond the window is not known, and may come into it.
        let isFiltered = !query.loadsAllData
        if !overlay.isEmpty, query.parameters.limit != nil { return }
        if isFiltered,
            overlay.contains(where: { $0.values.contains { $0.path.count > query.path.count + 1 } })
        {
            return
        }
        if overlay.contains(where: { $0.values.contains { $0.node.hasDeferredValues } }) { return }
        for version in listener.lastVersion..<ledger.versions.count {
            let tree = overlay.reduce(ledger.versions[version]) { $0.applying($1) }
            if query.parameters.filtered(tree.node(at: query.path)) == value {
                listener.lastVersion = version
                return journal.note(.viewCompared)
            }
        }
        journal.fail(
            "client \(number) listener \(listener.id.rawValue) to \(query.text) shows \(value) with "
                + "\(overlay.map(\.text)), which no tree since \(listener.lastVersion) gives; the server has "
                + "\(ledger.tree.node(at: query.path))")
    }

    /// Every listener shows what the server has.
    func checkAgreement() {
        for listener in listeners {
            let expected = listener.query.parameters.filtered(
                ledger.tree.node(at: listener.query.path))
            journal.expect(
                listener.shows(expected) && listener.metadata?.isComplete == true,
                "client \(number) listener \(listener.id.rawValue) to \(listener.query.text) ends with "
                    + "\(listener.value.map { "\($0)" } ?? "nothing"), not \(expected)")
            client?.get(listener.query) { [journal, number] result in
                guard case .success(let answer) = result else {
                    return journal.fail("client \(number) cannot get \(listener.query.text)")
                }
                journal.expect(
                    answer.node == expected && !answer.metadata.isFromCache,
                    "client \(number) gets \(answer.node) for \(listener.query.text) in the end, "
                        + "\(answer.metadata), not \(expected)")
            }
        }
    }
}

extension Node {
    fileprivate func applying(_ write: WriteRequest) -> Node {
        switch write {
        case .overwrite(let path, let node): setting(path, to: node)
        case .merge(let path, let values): setting(path, to: self.node(at: path).setting(values))
        }
    }
}
