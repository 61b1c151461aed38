import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import SimulationSupport

extension SimulatedClient {
    /// Checks that every listener's last snapshot equals the backend's documents.
    func checkAgreement() {
        let documents = audit.ledger.documents
        for listener in listeners where listener.error == nil {
            guard listener.options.source == .default else { continue }
            guard let snapshot = listener.snapshot else {
                journal.fail("\(listener.name) was told nothing")
                continue
            }
            let expected = NaiveEvaluator(listener.query).documents(among: documents)
            journal.expect(
                snapshot.documents.map(\.path) == expected
                    && snapshot.documents.allSatisfy { documents[$0.path] == $0.fields },
                "\(listener.name) to \(listener.query.canonicalID) ends with "
                    + "\(snapshot.summary), not "
                    + "\(expected.map { "\($0) \(documents[$0] ?? [:])" })")
            guard listener.options.includeMetadataChanges else { continue }
            journal.expect(
                !snapshot.isFromCache && !snapshot.hasPendingWrites,
                "\(listener.name) ends with \(snapshot.summary)")
        }
        checkReads(of: [])
    }

    /// Checks that an engine without requests retains nothing.
    func checkRest() {
        client?.inspect { [journal, number] state in
            journal.expect(
                state.targets.isEmpty && state.activeLimbo.isEmpty && state.waitingLimbo.isEmpty
                    && state.pipelineCount == 0,
                "client \(number) still holds \(state)")
        }
        client?.collectGarbage(threshold: 0) { _ in }
    }

    /// Checks that rows without a holder are evicted.
    func checkGarbage() {
        guard let usage = try? client?.usage() else { return }
        journal.expect(
            usage.documentCount == 0 && usage.absentCount == 0 && usage.overlays.rowCount == 0,
            "client \(number) keeps \(usage.documentCount) documents, \(usage.absentCount) "
                + "absent ones and \(usage.overlays.rowCount) overlays")
    }

    /// Terminates the client for good.
    func close() {
        client?.terminate { _ in }
    }

    /// Checks that the store has no damage.
    func checkStore() throws(LarderError) {
        end()
        var configuration = StoreConfiguration(directory: directory)
        configuration.durability = .lastCommitAtRisk
        let store = try Store(configuration)
        let report = try store.check { problem in
            self.journal.fail("client \(self.number)'s store: \(problem)")
            return .continue
        }
        journal.expect(report.isClean, "client \(number)'s store is damaged")
        try store.close()
    }
}
