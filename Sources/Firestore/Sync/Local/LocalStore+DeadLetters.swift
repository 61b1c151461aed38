package import LarderModel
import LarderStorage

extension LocalStore {
    /// The user's dead letters, in the order of their batches.
    ///
    /// - Parameters:
    ///   - batchID: only those of later batches.
    ///   - limit: at most how many.
    /// - Throws: `dataLoss` for a damaged one.
    package func deadLetters(after batchID: Int64 = 0, limit: Int = .max)
        throws(LarderError) -> [DeadLetter]
    {
        try store.read { (transaction) throws(LarderError) in
            var letters: [DeadLetter] = []
            let stored = try transaction.namedValues(
                .deadLetter, beginningWith: DeadLetter.prefix(of: user),
                after: DeadLetter.name(of: batchID, of: user), limit: limit)
            for value in stored { letters.append(try DeadLetter(value, of: user)) }
            return letters
        }
    }

    /// Forgets dead letters; those that are not there are passed over.
    ///
    /// - Returns: how many there were.
    @discardableResult
    package func discardDeadLetters(_ batchIDs: [Int64]) throws(LarderError) -> Int {
        try store.write { (transaction) throws(LarderError) in
            var count = 0
            for id in batchIDs {
                let name = DeadLetter.name(of: id, of: user)
                if try transaction.removeNamedValue(.deadLetter, name) { count += 1 }
            }
            return count
        }
    }

    /// Puts what a dead letter holds into the queue once more, as a new batch at its end; one
    /// commit.
    ///
    /// - Parameters:
    ///   - batchID: the id that the refused batch had.
    ///   - localWriteTime: now, by the local clock.
    /// - Returns: the new batch; nil where there is no such dead letter.
    /// - Throws: what makes the write impossible; the dead letter then stays.
    package func retryDeadLetter(_ batchID: Int64, localWriteTime: Timestamp)
        throws(LarderError) -> WrittenBatch?
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        let name = DeadLetter.name(of: batchID, of: user)
        return try commit { (transaction, news) throws(LarderError) in
            guard let stored = try transaction.namedValue(.deadLetter, name) else { return nil }
            let letter = try DeadLetter(stored, of: user)
            try transaction.removeNamedValue(.deadLetter, name)
            let write = PendingWrite(mutations: letter.mutations, localWriteTime: localWriteTime)
            let batch = try plan(write, in: transaction, using: builder)
            let written = try self.write(batch, in: &transaction).get()
            news?.note(written)
            return written
        }
    }

    /// Whether a batch of any user is in the queue.
    func isPending(_ batchID: Int64) throws(LarderError) -> Bool {
        try store.read { (transaction) throws(LarderError) in
            for user in try transaction.usersWithMutations() {
                if try transaction.mutationBatch(batchID, of: user) != nil { return true }
            }
            return false
        }
    }

    /// What has become of a batch of the user.
    ///
    /// Batch ids rise and are never used again, so that a batch which is neither in the queue nor
    /// among the dead letters has left the queue for good: nothing is stored for those that were
    /// acknowledged.
    package func outcome(of batchID: Int64) throws(LarderError) -> BatchOutcome {
        try store.read { (transaction) throws(LarderError) in
            if try transaction.mutationBatch(batchID, of: user) != nil { return .pending }
            let name = DeadLetter.name(of: batchID, of: user)
            guard let stored = try transaction.namedValue(.deadLetter, name) else {
                return .acknowledgedOrUnknown
            }
            return .rejected(try DeadLetter(stored, of: user))
        }
    }
}
