import LarderRealtimeModel
import LarderRealtimeSync
import SimulationSupport

extension SimulatedDatabase {
    /// Starts a transaction.
    func runTransaction(_ record: TransactionRecord, localEvents: Bool) {
        guard let client else { return }
        transactions[record.number] = record
        journal.note("client \(number) starts \(record)")
        client.runTransaction(
            at: record.path, localEvents: localEvents,
            { (node) throws(LarderError) in record.update(node) },
            completion: { [weak self] in self?.noteEnd(of: record, $0) })
    }

    private func noteEnd(
        of record: TransactionRecord, _ result: Result<TransactionOutcome, LarderError>
    ) {
        journal.expect(record.outcome == nil, "\(record) ends again")
        record.outcome = result
        journal.note("client \(number): \(record)")
        switch result {
        case .success(let outcome):
            journal.expect(
                outcome.isCommitted == !record.aborts, "\(record) should not end like this")
            if outcome.isCommitted {
                journal.note(.transactionCommitted)
                noteAnswered(record.version)
            }
            journal.expect(
                record.applications == (outcome.isCommitted ? 1 : 0), "\(record) is not applied")
        case .failure(let error):
            switch error.kind {
            case .unknown: journal.note(.transactionLost)
            // Closing a client keeps its transactions in the queue.
            case .cancelled: if running?.isTerminating == true { record.outcome = nil }
            default:
                if error.kind == .aborted { journal.note(.transactionOverridden) }
                journal.expect(record.applications == 0, "\(record) is applied")
            }
        }
    }

    /// Checks a transaction put that the server has accepted: each of its transactions was computed
    /// on the node that it replaced.
    func noteApplied(at place: TreePath, _ before: Node, _ after: Node) {
        var paths: [TreePath] = []
        for record in transactions.values.sorted(by: { $0.number < $1.number })
        where place.isAncestorOrEqual(of: record.path) && !paths.contains(record.path) {
            paths.append(record.path)
        }
        for path in paths {
            let (old, new) = (before.node(at: path), after.node(at: path))
            let added = TransactionRecord.numbers(in: new)
                .subtracting(TransactionRecord.numbers(in: old)).sorted()
            // Also where nothing is added: a transaction that is made again finds its own number.
            journal.expect(
                TransactionRecord.count(of: new)
                    == TransactionRecord.count(of: old) + Int64(added.count),
                "transactions \(added) at \(path) make \(new) of \(old)")
            for number in added {
                guard let record = transactions[number] else {
                    journal.fail("client \(self.number) sends a transaction that it has not")
                    continue
                }
                record.applications += 1
                record.version = ledger.lastVersion
                journal.expect(record.applications == 1, "\(record) is applied again")
            }
        }
    }

    /// The server's storage has refused the versions from a number on: what they have applied was
    /// not made.
    func noteReverted(from first: Int) {
        for record in transactions.values {
            guard let version = record.version, version >= first else { continue }
            record.applications -= 1
            record.version = nil
        }
    }

    /// Locations of transactions of earlier processes that may be unfinished.
    var transactionPaths: [TreePath] {
        Set(transactions.values.filter { $0.isOrphan && $0.outcome == nil }.map(\.path)).sorted()
    }

    /// Registers an update for the transactions of earlier processes at a location.
    func resume(at path: TreePath) {
        client?.resumeTransactions(at: path) { [weak self] (node) throws(LarderError) in
            guard let self else { return nil }
            journal.note(.transactionResumed)
            let record = TransactionRecord(nextTransaction(), at: path, aborts: false)
            record.isOrphan = true
            transactions[record.number] = record
            return record.update(node)
        }
    }
}
