import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

extension SimulatedDatabase {
    /// Checks that every request has ended and was applied as often as its answers say.
    func checkRecords() {
        for record in records {
            journal.expect(!record.isOpen, "client \(number) still has \(record)")
            journal.expect(
                record.applications <= record.arrivals, "\(record) is applied too often")
            switch record.state {
            case .notMade:
                journal.expect(record.applications == 0, "\(record) is applied")
            // A write that a later one replaces shares its answer, wherever it arrived before.
            case .rejected where record.sendings == 1 && !record.isMerged:
                journal.expect(record.applications == 0, "\(record) is applied")
            case .acknowledged where record.sendings == 1:
                journal.expect(record.applications <= 1, "\(record) is applied again")
            default: break
            }
        }
        for transaction in transactions.values {
            journal.expect(
                transaction.outcome != nil || transaction.isOrphan,
                "client \(number) still runs \(transaction)")
        }
        client?.pendingWrites { [journal, number] result in
            guard case .success(let writes) = result else { return }
            journal.expect(writes.isEmpty, "client \(number) has pending writes: \(writes)")
        }
        checkDeadWrites()
    }

    private func checkDeadWrites() {
        let rejected = Set(
            records.compactMap { (record) -> WriteID? in
                guard case .rejected = record.state, !record.isMerged else { return nil }
                return record.id
            })
        client?.deadWrites { [weak self] result in
            guard let self, case .success(let dead) = result else { return }
            let known = Set(dead.map(\.id))
            journal.expect(
                rejected.isSubset(of: known),
                "client \(number) has forgotten refused writes: \(rejected.subtracting(known))")
            for id in known.subtracting(rejected).sorted() {
                guard let record = records.first(where: { $0.id == id }) else { continue }
                journal.expect(
                    record.refusals > 0 && record.isOrphan || record.isMerged,
                    "\(record) is a dead write")
            }
        }
    }

    /// Checks that a client without listeners has no listens at the server.
    func checkRest() {
        journal.expect(running?.isIdle == true, "client \(number) does not rest")
        for link in network.links {
            journal.expect(
                link.listens.isEmpty,
                "client \(number) still listens to \(link.listens.map(\.query.text))")
        }
        evict()
    }

    /// Checks that unused data was evicted.
    func checkEmpty() {
        client?.usage { [journal, number] result in
            guard case .success(let usage) = result else {
                return journal.fail("client \(number) has no statistics")
            }
            journal.expect(
                usage.trackedQueryCount == 0 && usage.listenerCount == 0
                    && usage.pendingWriteCount == 0,
                "client \(number) keeps \(usage.trackedQueryCount) queries")
        }
    }
}
