import LarderDocumentStore
package import LarderModel

extension LocalStore {
    /// - Throws: `dataLoss` for a damaged batch.
    package func pendingBatches() throws(LarderError) -> [MutationBatch] {
        try batches(after: 0, limit: .max)
    }

    /// Batches of the user's queue with ids above the given one, in order.
    ///
    /// - Parameters:
    ///   - limit: the maximum number.
    ///   - maxBytes: the size at which reading stops; the first batch is returned in any case.
    /// - Throws: `dataLoss` for a damaged batch.
    package func batches(after id: Int64, limit: Int, maxBytes: Int = .max)
        throws(LarderError) -> [MutationBatch]
    {
        try store.read { (transaction) throws(LarderError) in
            let runs = try transaction.writeRuns(Self.runsName)
            var batches: [MutationBatch] = []
            var sizeBytes = 0
            while batches.count < limit, sizeBytes < maxBytes || batches.isEmpty,
                let batch = try transaction.nextMutationBatch(
                    after: batches.last?.id ?? id, of: user)
            {
                batches.append(try MutationBatch(batch, in: runs))
                sizeBytes += batch.payload.count
            }
            return batches
        }
    }

    /// Reads at most about 60 batches.
    ///
    /// - Parameter limit: the upper bound of ids.
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

    /// Records an attempt to send a batch, and the text of its failure.
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
    fileprivate init(_ batch: MutationRow, in runs: WriteRuns) throws(LarderError) {
        self.init(
            id: batch.id, localWriteTime: batch.localWriteTime,
            mutations: try MutationPayload(batch.payload).mutations,
            attemptCount: batch.attemptCount, lastAttempt: batch.lastAttempt,
            lastError: batch.lastError, sizeBytes: batch.payload.count,
            nameInRun: runs.name(ofWrite: batch.id))
    }
}

/// A decoded batch of the queue.
package struct MutationBatch: Sendable {
    /// Increasing across all users and never reused.
    package let id: Int64
    /// The time of the write, by the local clock.
    package let localWriteTime: Timestamp
    package let mutations: [Mutation]
    /// The number of failed attempts to commit it, sent or not.
    package let attemptCount: Int
    /// The time of the last attempt; nil for none.
    package let lastAttempt: Timestamp?
    package let lastError: String?
    /// The approximate size in bytes.
    package var sizeBytes = 0
    /// The name by which servers recognize it; nil if it was made before its store had runs.
    var nameInRun: String?
}
