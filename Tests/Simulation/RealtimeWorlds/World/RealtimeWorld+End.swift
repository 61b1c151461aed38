import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

extension RealtimeWorld {
    /// Ends all faults; pending requests are sent and all clients agree with the server.
    func heal() throws {
        journal.note("the world heals")
        faults.heal()
        server.rules.reset()
        server.storage.isFailing = false
        for client in clients {
            client.network.conditions.clear()
            client.isDiskFailing = false
            client.tokens.signIn("user\(client.number)")
            client.tokens.lifetime = nil
        }
        server.applyRules()
        server.expireTokens()
        try run()
        for client in clients {
            client.client?.tokenChanged()
            client.client?.goOnline()
        }
        try run()
        for client in clients { client.listen(to: QuerySpec(.root)) }
        try run()
        journal.expect(
            server.tree == server.ledger.tree,
            "the server has \(server.tree), not \(server.ledger.tree)")
        for client in clients {
            client.checkAgreement()
            client.checkRecords()
        }
        try run()
    }

    /// Removes all listeners and closes the clients; no data stays in use.
    func end() throws {
        for client in clients {
            for listener in client.listeners { client.remove(listener) }
            for query in client.keptQueries { client.keepSynced(query, false) }
        }
        try run()
        for client in clients { client.checkRest() }
        try run()
        for client in clients { client.checkEmpty() }
        try run()
        for client in clients { client.client?.terminate { _ in } }
        try run()
        for client in clients { try client.checkStore() }
        if let violation = journal.violation { throw violation }
    }
}
