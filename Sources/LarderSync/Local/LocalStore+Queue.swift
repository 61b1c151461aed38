package import LarderModel
import LarderStorage

extension LocalStore {
    /// The user's queue, in order.
    ///
    /// - Throws: `dataLoss` for a damaged batch.
    package func pendingBatches() throws(LarderError) -> [PendingBatch] {
        throw LarderError(.unimplemented, "pending batches")
    }

    /// The id of the last batch in the user's queue; nil when it is empty.
    package func highestPendingBatchID() throws(LarderError) -> Int64? {
        throw LarderError(.unimplemented, "pending batches")
    }

    /// Counts an attempt to send a batch, and keeps the text of its failure.
    ///
    /// - Returns: whether the batch is in the queue.
    @discardableResult
    package func recordAttempt(
        toSend batchID: Int64, at time: Timestamp, failure: String? = nil
    ) throws(LarderError) -> Bool {
        try store.write { (transaction) throws(LarderError) in
            try transaction.recordAttempt(toSend: batchID, of: user, at: time, failure: failure)
        }
    }
}
