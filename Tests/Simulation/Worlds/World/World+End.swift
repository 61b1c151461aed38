import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import SimulationSupport

extension World {
    /// Ends all faults; then all pending writes are sent, and all clients agree.
    func heal() throws {
        journal.note("the world heals")
        faults.heal()
        backend.rules.reset()
        for client in clients {
            client.network.conditions.clear()
            client.disk.recover()
            client.setNetwork(enabled: true)
        }
        try run()
        for user in Self.users {
            for client in clients { client.setUser(UserID(user)) }
            try run()
            for client in clients {
                journal.expect(
                    !client.records.contains { $0.userID == user && $0.isPending },
                    "client \(client.number) still has \(client.records)")
            }
        }
        for client in clients { try listenToAll(client) }
        try run()
        try checkBackend()
        for client in clients { client.checkAgreement() }
        try run()
    }

    private func listenToAll(_ client: SimulatedClient) throws {
        for group in Self.groups {
            client.listen(
                to: Query(.group(group)), ListenOptions(includeMetadataChanges: true))
        }
    }

    /// Checks the backend's documents against the ledger.
    private func checkBackend() throws {
        var paths = Set(audit.ledger.documents.keys)
        paths.formUnion(audit.ledger.documents(asOf: .none).keys)
        for path in paths.sorted() {
            let document = try backend.document(at: path)
            journal.expect(
                document?.fields == audit.ledger.documents[path],
                "the backend has \(path) as \(document?.fields ?? [:])")
        }
    }

    /// Ends the clients, which leave nothing behind.
    func end() throws {
        for client in clients {
            for listener in client.listeners { client.remove(listener) }
        }
        try run()
        for client in clients { client.checkRest() }
        try run()
        for client in clients { client.checkGarbage() }
        for client in clients { client.close() }
        try run()
        for client in clients { try client.checkStore() }
        backend.close()
        if let violation = journal.violation { throw violation }
    }
}
