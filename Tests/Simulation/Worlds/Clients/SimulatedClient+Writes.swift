import LarderDocumentStore
import LarderModel
import LarderSync
import SimulationSupport

extension SimulatedClient {
    /// Makes a write.
    ///
    /// - Parameter number: its number in the world.
    func write(_ mutations: [Mutation], number: Int) {
        guard let client else { return }
        let record = WriteRecord(number: number, mutations)
        records.append(record)
        audit.add(record)
        client.write(
            mutations, committed: { [weak self] in self?.noteCommitted(record, $0) },
            acknowledged: { [weak self] in self?.noteSettled(record, $0) })
        record.time = lastTime
        journal.note("client \(self.number) writes \(number): \(mutations.map(\.text))")
    }

    private func noteCommitted(_ record: WriteRecord, _ result: Result<Int64, LarderError>) {
        record.userID = user.string
        switch result {
        case .success(let id): record.state = .pending(batchID: id)
        case .failure(let error):
            journal.expect(
                error.kind == .unavailable && disk.hasFailed || error.kind == .failedPrecondition,
                "\(record) was not taken: \(error)")
            settle(record, .refused(error))
        }
        journal.note("client \(number): \(record)")
    }

    private func noteSettled(_ record: WriteRecord, _ result: Result<Void, LarderError>) {
        guard record.batchID != nil else { return journal.fail("\(record) is settled again") }
        switch result {
        case .success:
            journal.expect(
                !record.isNumbered || !record.commits.isEmpty, "\(record) was never committed")
            settle(record, .acknowledged)
        case .failure(let error) where error.kind == .cancelled:
            // A terminating client leaves it in the queue.
            if running?.isTerminating == true {
                record.isOrphan = true
            } else {
                settle(record, .cancelled)
            }
        case .failure(let error):
            journal.note(.deadLetter)
            journal.expect(
                !record.isNumbered || record.refusalCount > 0, "\(record) failed: \(error)")
            settle(record, .rejected(error))
        }
        journal.note("client \(number): \(record)")
    }

    private func settle(_ record: WriteRecord, _ state: WriteRecord.State) {
        record.state = state
        records.removeAll { $0 === record }
    }

    /// Cancels one of the pending writes.
    func cancelWrite() {
        let pending = records.filter { $0.batchID != nil && $0.userID == user.string }
        guard let client, !pending.isEmpty else { return }
        let record = chance.pick(pending)
        guard let id = record.batchID else { return }
        client.cancelWrite(id) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(true):
                journal.note(.writeCancelled, "\(record)")
                // No caller waits for the writes of an earlier process.
                if record.isPending { settle(record, .cancelled) }
            case .success(false): journal.note(.cancelRefused, "\(record)")
            case .failure(let error):
                journal.expect(
                    disk.hasFailed || error.kind == .failedPrecondition,
                    "\(record) could not be cancelled: \(error)")
            }
        }
    }

    // MARK: The queue

    /// Compares the client's queue of the present user with the records of writes.
    func check(_ batches: [MutationBatch]) {
        journal.expect(
            zip(batches, batches.dropFirst()).allSatisfy { $0.id < $1.id },
            "the queue is out of order: \(batches.map(\.id))")
        var found = Dictionary(batches.map { ($0.id, $0.localWriteTime) }) { first, _ in first }
        for record in records where record.userID == user.string {
            guard let id = record.batchID else { continue }
            if let time = found.removeValue(forKey: id) {
                journal.expect(time == record.time, "\(record) is of another time in the queue")
            } else {
                journal.expect(record.isOrphan, "\(record) left the queue without a word")
                leave(record)
            }
        }
        journal.expect(found.isEmpty, "batches in the queue that no client wrote: \(found)")
    }

    /// A write of an earlier process has left the queue.
    private func leave(_ record: WriteRecord) {
        journal.expect(
            !record.isNumbered || !record.commits.isEmpty || record.refusalCount > 0,
            "\(record) was lost")
        settle(record, .left)
    }
}
