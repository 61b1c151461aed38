import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

extension SimulatedDatabase {
    /// Adds a listener to a query.
    @discardableResult
    func listen(to query: QuerySpec) -> TreeListener? {
        guard let client else { return nil }
        let listener = TreeListener(nextListener(), query, client: number, journal)
        journal.note("client \(number) listens to \(query.text) as \(listener.id.rawValue)")
        listeners.append(listener)
        client.listen(
            to: query,
            Listener(
                listener.id, Set(TreeEventType.allCases),
                includesMetadataChanges: listener.includesMetadataChanges)
        ) { [weak listener] in listener?.receive($0) }
        return listener
    }

    /// Removes a listener.
    func remove(_ listener: TreeListener) {
        journal.note("client \(number) ends listener \(listener.id.rawValue)")
        listeners.removeAll { $0 === listener }
        client?.removeListener(listener.id, from: listener.query)
        // Requests are served in order.
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

    /// Evicts everything that is not in use.
    func evict() {
        client?.evict(toBytes: 0) { [journal, number] result in
            if case .success(let eviction) = result {
                journal.note(.evicted, "client \(number): \(eviction)")
            }
        }
    }

    // MARK: Consistency

    /// An accepted request was answered: the server has sent every change up to its own before.
    func noteAnswered(_ version: Int?) {
        guard let version else { return }
        for listener in listeners { listener.lastVersion = max(listener.lastVersion, version) }
    }

    private func hasOpenTransaction(at path: TreePath) -> Bool {
        queuedTransactions.contains { $0.overlaps(path) }
            || transactions.values.contains {
                $0.outcome == nil && !$0.isOrphan && $0.path.overlaps(path)
            }
    }

    /// The values of the pending writes that concern a location, in order.
    private func overlay(of path: TreePath) -> [PathValue] {
        queue.filter(\.isPending).compactMap(\.write).flatMap { write in
            write.values.contains { $0.path.overlaps(path) } ? write.values : []
        }
    }

    /// Checks that a listener shows a version of the server's tree with the pending writes, no
    /// earlier than the last version that it has shown.
    func compare(_ listener: TreeListener) {
        let query = listener.query
        guard let value = listener.value, listener.metadata?.isFromCache == false,
            !hasOpenTransaction(at: query.path)
        else { return }
        let overlay = overlay(of: query.path)
        // Children outside the window are unknown and may enter it: the last value of a listener
        // without metadata may be incomplete by now.
        if !listener.includesMetadataChanges {
            if !overlay.isEmpty, query.parameters.limit != nil { return }
            if !query.loadsAllData,
                overlay.contains(where: { $0.path.count > query.path.count + 1 })
            {
                return
            }
        }
        if overlay.contains(where: { $0.node.hasDeferredValues }) { return }
        for version in listener.lastVersion..<ledger.versions.count {
            // Values that later ones cover are not applied: whether they had replaced a leaf of the
            // server above them is not known before they are acknowledged.
            for overlay in [overlay, overlay.uncovered] {
                let tree = ledger.versions[version].applying(overlay)
                if query.parameters.filtered(tree.node(at: query.path)) == value {
                    listener.lastVersion = version
                    return journal.note(.viewCompared)
                }
            }
        }
        journal.fail(
            "client \(number) listener \(listener.id.rawValue) to \(query.text) shows \(value) with "
                + "\(overlay), which no tree since \(listener.lastVersion) gives; "
                + "the server has \(ledger.tree.node(at: query.path))")
    }

    /// Checks that every listener and get returns the server's content.
    func checkAgreement() {
        for listener in listeners {
            let expected = listener.query.parameters.filtered(
                ledger.tree.node(at: listener.query.path))
            journal.expect(
                listener.shows(expected) && listener.metadata?.isComplete == true,
                "client \(number) listener \(listener.id.rawValue) to \(listener.query.text) "
                    + "ends with \(listener.value.map { "\($0)" } ?? "nothing"), not \(expected)")
            if listener.includesMetadataChanges, let metadata = listener.metadata {
                journal.expect(
                    !metadata.isFromCache && !metadata.hasPendingWrites,
                    "client \(number) listener \(listener.id.rawValue) to \(listener.query.text) "
                        + "ends with \(metadata)")
            }
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
    fileprivate func applying(_ values: [PathValue]) -> Node {
        values.reduce(self) { $0.setting($1.path, to: $1.node) }
    }
}

extension [PathValue] {
    /// The values that no later one replaces as a whole.
    fileprivate var uncovered: [PathValue] {
        indices.filter { place in
            !self[(place + 1)...].contains { $0.path.isAncestorOrEqual(of: self[place].path) }
        }.map { self[$0] }
    }
}
