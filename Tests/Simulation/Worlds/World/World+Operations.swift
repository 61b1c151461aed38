import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import SimulationSupport

extension World {
    private typealias Act = @Sendable (World, SimulatedClient) throws -> Void

    /// The operations and their weights.
    private static let acts: [(weight: Int, element: Act)] = [
        (40, { world, client in try world.write(client) }),
        (12, { world, _ in try world.writeElsewhere() }),
        (
            14,
            { world, client in
                client.listen(to: try world.chance.query(), world.chance.listenOptions())
            }
        ),
        (
            8,
            { world, client in
                if !client.listeners.isEmpty { client.remove(world.chance.pick(client.listeners)) }
            }
        ),
        (
            6,
            { world, client in
                client.checkReads(of: [try world.chance.query(), try world.chance.query()])
            }
        ),
        (4, { _, client in client.cancelWrite() }),
        (2, { world, client in client.evict(try world.chance.query()) }),
        (2, { _, client in client.collectGarbage() }),
        (5, { world, client in world.disturbNetwork(of: client) }),
        (3, { world, client in world.disableNetwork(of: client) }),
        (4, { world, client in client.setUser(UserID(world.chance.pick(World.users))) }),
        (3, { _, client in client.crash() }),
        (1, { _, client in client.restart() }),
        (3, { world, client in world.failDisk(of: client) }),
        (3, { world, _ in try world.changeRules() }),
        (2, { world, _ in try world.forgetDeletes() }),
        (1, { world, _ in try world.restartBackend() }),
        (2, { _, client in client.isToLoseCommit = true }),
    ]

    /// Makes a random operation.
    func act() {
        let client = chance.pick(clients)
        do {
            try chance.pick(Self.acts)(self, client)
        } catch {
            journal.fail("the world is at fault: \(error)")
        }
    }

    private func write(_ client: SimulatedClient) throws {
        for _ in 0..<(chance.oneIn(6) ? 1 + chance.below(12) : 1) {
            writeCount += 1
            client.write(try chance.mutations(number: writeCount), number: writeCount)
        }
    }

    /// A client outside this world writes.
    private func writeElsewhere() throws {
        writeCount += 1
        let mutations = try chance.mutations(number: writeCount)
        backend.remote.commit(
            mutations, as: Credentials(userID: RuleBook.administrator)
        ) { [audit] result in
            if case .success(let response) = result { audit.committed(mutations, response, by: 0) }
        }
    }

    private func disturbNetwork(of client: SimulatedClient) {
        client.network.conditions.disturb(
            chance.oneIn(2) ? .silent : .refusing,
            for: chance.duration(.milliseconds(10)...(.seconds(100))))
    }

    private func disableNetwork(of client: SimulatedClient) {
        client.setNetwork(enabled: false)
        events.schedule(after: chance.duration(.milliseconds(1)...(.seconds(60)))) {
            client.setNetwork(enabled: true)
        }
    }

    private func failDisk(of client: SimulatedClient) {
        client.disk.fail()
        events.schedule(after: chance.duration(.milliseconds(10)...(.seconds(60)))) {
            client.disk.recover()
        }
    }

    private func changeRules() throws {
        let rules = backend.rules
        if chance.oneIn(3) { rules.reset() }
        for _ in 0..<chance.below(3) { rules.locked.insert(try chance.path()) }
        for _ in 0..<chance.below(4) { rules.hidden.insert(try chance.path()) }
        if chance.oneIn(3) { rules.closed.insert(chance.pick(Self.groups)) }
        journal.note(
            "rules: locked \(rules.locked.sorted()), hidden \(rules.hidden.sorted()), closed "
                + "\(rules.closed.sorted())")
    }

    private func restartBackend() throws {
        journal.note(.backendRestarted)
        try backend.restart()
    }

    private func forgetDeletes() throws {
        journal.note(.deletesForgotten)
        try backend.forgetDeletes(before: events.clock.timestamp)
    }
}
