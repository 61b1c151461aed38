package import LarderModel
import LarderStorage

extension LocalStore {
    /// The user's queue, in order.
    ///
    /// - Throws: `dataLoss` for a damaged batch.
    package func pendingBatches() throws(LarderError) -> [PendingBatch] {
        try store.read { (transaction) throws(LarderError) in
            var batches: [PendingBatch] = []
            for batch in try transaction.mutationBatches(of: user) {
                batches.append(try PendingBatch(batch))
            }
            return batches
        }
    }

    /// The id of the last batch in the user's queue; nil when it is empty.
    ///
    /// Reads some 60 batches at most, however long the queue is.
    package func highestPendingBatchID() throws(LarderError) -> Int64? {
        try store.read { (transaction) throws(LarderError) in
            guard let first = try transaction.nextMutationBatch(of: user) else {
                return nil
            }
            // The last id lies between the two.
            var (low, high) = (first.id, Int64.max)
            while low < high {
                let middle = low + (high - low) / 2
                if let next = try transaction.nextMutationBatch(after: middle, of: user) {
                    low = next.id
                } else {
                    high = middle
                }
            }
            return low
        }
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

extension PendingBatch {
    fileprivate init(_ batch: MutationBatch) throws(LarderError) {
        self.init(
            id: batch.id, localWriteTime: batch.localWriteTime,
            mutations: try BatchContents(payload: batch.payload).mutations,
            attemptCount: batch.attemptCount, lastAttempt: batch.lastAttempt,
            lastError: batch.lastError)
    }
}
