package import LarderModel
import LarderStorage

extension LocalStore {
    /// Puts writes into the queue and makes them visible, all in one commit.
    ///
    /// Later writes see earlier ones. A write that cannot be made fails alone and leaves nothing:
    /// a document that it makes is beyond the limits of size or depth (`invalidArgument`), or an
    /// expectation no longer holds (`aborted`). A mutation whose precondition does not hold of
    /// the local view is queued all the same and changes nothing here.
    ///
    /// - Returns: an outcome for each write, in order.
    /// - Throws: what the store throws when nothing could be committed.
    package func write(_ writes: [PendingWrite])
        throws(LarderError) -> [Result<WrittenBatch, LarderError>]
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        return try commit { (transaction, news) throws(LarderError) in
            var outcomes: [Result<WrittenBatch, LarderError>] = []
            outcomes.reserveCapacity(writes.count)
            for write in writes {
                let batch: PlannedBatch
                do throws(LarderError) {
                    batch = try plan(write, in: transaction, using: builder)
                } catch {
                    outcomes.append(.failure(error))
                    continue
                }
                let outcome = try self.write(batch, in: &transaction)
                if case .success(let written) = outcome { news?.note(written) }
                outcomes.append(outcome)
            }
            return outcomes
        }
    }

    /// Puts a batch into the queue and its documents' overlays beside it.
    ///
    /// - Returns: a failure, with nothing written, where the queue does not take the batch.
    /// - Throws: where part of the batch may be written: the transaction must not be committed.
    func write(_ batch: PlannedBatch, in transaction: inout WriteTransaction)
        throws(LarderError) -> Result<WrittenBatch, LarderError>
    {
        guard !batch.contents.mutations.isEmpty else {
            return .success(WrittenBatch(id: 0, changes: []))
        }
        let id: Int64
        do throws(LarderError) {
            id = try transaction.appendMutations(
                batch.payload,
                touching: batch.entries.map {
                    TouchedDocument(path: $0.path, baseVersion: $0.baseVersion)
                }, localWriteTime: batch.localWriteTime, of: user)
        } catch {
            // The core refuses arguments before it writes anything.
            guard error.kind == .invalidArgument else { throw error }
            return .failure(error)
        }
        var changes: [LocalViewChange] = []
        changes.reserveCapacity(batch.entries.count)
        for entry in batch.entries {
            var after = entry.before
            if let overlay = entry.after.overlay(overFound: entry.isCached) {
                try transaction.putOverlay(
                    entry.after.record, payload: overlay.payload, at: entry.path, of: user,
                    largestBatchID: id)
                after = entry.after.document(
                    at: entry.path, readTime: .none, largestBatchID: id)
            }
            changes.append(LocalViewChange(path: entry.path, before: entry.before, after: after))
        }
        return .success(WrittenBatch(id: id, changes: changes))
    }
}

extension StoreNews {
    /// Notes a batch that has come into the queue.
    mutating func note(_ batch: WrittenBatch) {
        guard batch.id != 0 else { return }
        batches.append(Batch(batch.id, .pending))
        note(batch.changes.map(\.path))
    }
}
