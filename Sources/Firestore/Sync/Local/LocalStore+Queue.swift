import LarderDocumentStore
package import LarderModel

extension LocalStore {
    /// The user's queue, in order.
    ///
    /// - Throws: `dataLoss` for a damaged batch.
    package func pendingBatches() throws(LarderError) -> [MutationBatch] {
        try batches(after: 0, limit: .max)
    }

    /// Batches of the user's queue with ids above the given one, in order.
    ///
    /// - Parameters:
    ///   - id: 0 for the head of the queue.
    ///   - limit: at most how many.
    ///   - maxBytes: no others once so many bytes were read, but the first in any case.
    /// - Throws: `dataLoss` for a damaged batch.
    package func batches(after id: Int64, limit: Int, maxBytes: Int = .max)
        throws(LarderError) -> [MutationBatch]
    {
        try store.read { (transaction) throws(LarderError) in
            var batches: [MutationBatch] = []
            var sizeBytes = 0
            while batches.count < limit, sizeBytes < maxBytes || batches.isEmpty,
                let batch = try transaction.nextMutationBatch(
                    after: batches.last?.id ?? id, of: user)
            {
                batches.append(try MutationBatch(batch))
                sizeBytes += batch.payload.count
            }
            return batches
        }
    }

    /// The id of the last batch in the user's queue; nil when it is empty.
    ///
    /// Reads some 60 batches at most, however long the queue is.
    ///
    /// - Parameter limit: only ids up to this one count.
    package func highestPendingBatchID(upTo limit: Int64 = .max) throws(LarderError) -> Int64? {
        try store.read { (transaction) throws(LarderError) in
            guard let first = try transaction.nextMutationBatch(of: user), first.id <= limit else {
                return nil
            }
            // The last id lies between the two.
            var (low, high) = (first.id, limit)
            while low < high {
                let middle = low + (high - low) / 2
                if let next = try transaction.nextMutationBatch(after: middle, of: user),
                    next.id <= limit
                {
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

extension MutationBatch {
    fileprivate init(_ batch: MutationRow) throws(LarderError) {
        self.init(
            id: batch.id, localWriteTime: batch.localWriteTime,
            mutations: try MutationPayload(batch.payload).mutations,
            attemptCount: batch.attemptCount, lastAttempt: batch.lastAttempt,
            lastError: batch.lastError, sizeBytes: batch.payload.count)
    }
}

/// A batch of the queue, as it waits for the backend.
package struct MutationBatch: Sendable {
    /// The batch's id: it rises over all users and is never used again.
    package let id: Int64
    /// When it was written, by the local clock.
    package let localWriteTime: Timestamp
    /// What it does, in order.
    package let mutations: [Mutation]
    /// How often it was tried in vain to have it committed, sent or not.
    package let attemptCount: Int
    /// When that was tried last; nil for never.
    package let lastAttempt: Timestamp?
    /// The text of the last failure; nil for none.
    package let lastError: String?
    /// About how many bytes it takes.
    package var sizeBytes = 0
}
