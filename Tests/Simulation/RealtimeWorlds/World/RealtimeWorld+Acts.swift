import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import SimulationSupport

extension RealtimeWorld {
    private typealias Act = @Sendable (RealtimeWorld, SimulatedDatabase) throws -> Void

    /// The operations with their weights.
    private static let acts: [(weight: Int, element: Act)] = [
        (36, { world, client in world.write(client) }),
        (8, { world, _ in world.writeElsewhere() }),
        (12, { world, client in world.startTransactions(client) }),
        (14, { world, client in client.listen(to: world.randomQuery) }),
        (
            7,
            { world, client in
                if !client.listeners.isEmpty { client.remove(world.chance.pick(client.listeners)) }
            }
        ),
        (5, { world, client in world.keep(client) }),
        (5, { world, client in client.get(world.randomQuery) }),
        (7, { world, client in world.arm(client) }),
        (3, { _, client in client.cancelWrite() }),
        (1, { _, client in client.purge() }),
        (2, { _, client in client.evict() }),
        (5, { world, client in world.disturbNetwork(of: client) }),
        (4, { world, client in world.goOffline(client) }),
        (2, { world, client in world.signIn(client) }),
        (3, { _, client in client.crash() }),
        (2, { _, client in client.restart() }),
        (2, { world, client in world.failDisk(of: client) }),
        (3, { world, _ in world.changeRules() }),
        (1, { world, _ in world.server.expireTokens() }),
        (1, { world, _ in world.server.dropConnections() }),
        (1, { world, _ in try world.server.restart(keepsNames: !world.chance.oneIn(4)) }),
        (1, { world, _ in world.failStorage() }),
    ]

    /// Performs a random operation.
    func act() {
        let client = chance.pick(clients)
        do {
            try chance.pick(Self.acts)(self, client)
        } catch {
            journal.fail("the world is at fault: \(error)")
        }
    }

    private var randomWrite: WriteRequest {
        if chance.oneIn(10) {
            let value: ServerValue = chance.oneIn(2) ? .timestamp : .increment(LeafNumber(1))
            let path = TreePath("\(chance.pick(["a", "b"]))/m\(chance.below(9))/n")
            return .overwrite(path, Node(.deferred(value)))
        }
        if chance.oneIn(20) { return .overwrite(transactionPath, .empty) }
        if chance.oneIn(12) { return bulkWrite }
        let (path, change) = chance.with { $0.roomWrite() }
        switch change {
        case .overwrite(let node): return .overwrite(path, node)
        case .merge(let values): return .merge(path, values)
        }
    }

    /// A write to a location that is large enough for compound hashes.
    private var bulkWrite: WriteRequest {
        let path = TreePath("bulk")
        let text = String(repeating: "x", count: 40 + chance.below(20))
        if chance.oneIn(2) {
            return .overwrite(path.child(ChildKey("k\(chance.below(40))")), Node(.string(text)))
        }
        return .overwrite(
            path, Node(children: (0..<40).map { Child(ChildKey("k\($0)"), Node(.string(text))) }))
    }

    private var randomQuery: QuerySpec {
        if chance.oneIn(10) { return QuerySpec(TreePath("bulk")) }
        return chance.oneIn(12) ? QuerySpec(transactionPath) : chance.with { $0.roomQuery() }
    }

    private func write(_ client: SimulatedDatabase) {
        for _ in 0..<(chance.oneIn(6) ? 1 + chance.below(12) : 1) {
            let write = randomWrite
            client.write(write)
            if chance.oneIn(8), case .overwrite(let path, _) = write {
                client.write(.overwrite(path, Node(.string("again \(client.records.count)"))))
            }
        }
    }

    /// Writes as an administrator.
    private func writeElsewhere() {
        guard case .overwrite(let path, let node) = randomWrite, !node.hasDeferredValues else {
            return
        }
        server.write(path, node)
    }

    private var transactionPath: TreePath {
        TreePath(chance.pick(["t/a", "t/b", "t/a/s", "a/m1", "b/m2"]))
    }

    private func startTransactions(_ client: SimulatedDatabase) {
        let path = transactionPath
        for _ in 0..<(chance.oneIn(4) ? 1 + chance.below(4) : 1) {
            let record = TransactionRecord(
                nextTransaction(), at: chance.oneIn(4) ? transactionPath : path,
                aborts: chance.oneIn(10))
            client.runTransaction(record, localEvents: !chance.oneIn(4))
        }
    }

    private func keep(_ client: SimulatedDatabase) {
        if !client.keptQueries.isEmpty, chance.oneIn(2) {
            client.keepSynced(chance.pick(client.keptQueries), false)
        } else {
            client.keepSynced(randomQuery, true)
        }
    }

    private func arm(_ client: SimulatedDatabase) {
        journal.note(.armed)
        switch (chance.below(6), randomWrite) {
        case (0, let write): client.arm(.cancel(write.path))
        case (1, _):
            client.arm(
                .put(TreePath("gone/\(client.number)"), Node(.deferred(.increment(LeafNumber(1))))))
        case (_, .overwrite(let path, let node)): client.arm(.put(path, node))
        case (_, .merge(let path, let values)): client.arm(.merge(path, values))
        }
    }

    // MARK: Faults

    private func disturbNetwork(of client: SimulatedDatabase) {
        client.network.conditions.disturb(
            chance.oneIn(2) ? .silent : .refusing,
            for: chance.duration(.milliseconds(10)...(.seconds(100))))
    }

    private func goOffline(_ client: SimulatedDatabase) {
        journal.note(.goneOffline, "client \(client.number)")
        client.client?.goOffline()
        events.schedule(after: chance.duration(.milliseconds(1)...(.seconds(60)))) {
            client.client?.goOnline()
        }
    }

    private func signIn(_ client: SimulatedDatabase) {
        let user = signsOut && chance.oneIn(2) ? nil : "user\(client.number)"
        client.tokens.signIn(user)
        journal.note(.userChanged, "client \(client.number): \(user ?? "none")")
        client.client?.tokenChanged()
    }

    private func failDisk(of client: SimulatedDatabase) {
        client.isDiskFailing = true
        events.schedule(after: chance.duration(.milliseconds(10)...(.seconds(60)))) {
            client.isDiskFailing = false
        }
    }

    private func failStorage() {
        server.storage.isFailing = true
        events.schedule(after: chance.duration(.milliseconds(1)...(.seconds(5)))) { [server] in
            server.storage.isFailing = false
        }
    }

    private func changeRules() {
        let rules = server.rules
        if chance.oneIn(2) { rules.reset() }
        for _ in 0..<chance.below(3) { rules.locked.append(randomWrite.path) }
        rules.locked.removeAll(where: \.isEmpty)
        for _ in 0..<chance.below(2) { rules.hidden.append(randomWrite.path) }
        rules.hidden.removeAll(where: \.isEmpty)
        journal.note("rules: locked \(rules.locked), hidden \(rules.hidden)")
        server.applyRules()
    }
}
