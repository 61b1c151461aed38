public import LarderModel
import LarderSync

extension Firestore {
    /// The writes that the backend has refused, in the order in which they were made, those of
    /// earlier runs of the program included.
    ///
    /// Reads on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func deadLetters() async throws(LarderError) -> [DeadLetter] {
        try await read { (client) throws(LarderError) in
            try client.deadLetters().map { DeadLetter($0, of: self) }
        }
    }

    /// The writes that the backend has refused, now and after each change of them.
    ///
    /// Only the newest list waits for the loop: a slow one leaves out lists, never the last.
    public var deadLetterUpdates: SnapshotSequence<[DeadLetter]> {
        SnapshotSequence(.bufferingNewest(1)) { [self] deliver in
            let registration = Registration()
            do throws(LarderError) {
                registration.attach(
                    try connection.client().observeDeadLetters { result in
                        guard registration.isActive else { return }
                        deliver(result.map { $0.map { DeadLetter($0, of: self) } })
                    })
            } catch {
                deliver(.failure(error))
            }
            return registration
        }
    }

    /// Makes a write once more that the backend has refused, behind all that are pending.
    ///
    /// - Returns: the new write, which is committed locally; nil where there is no such dead
    ///   letter.
    /// - Throws: why the write cannot be made, and the dead letter stays; `failedPrecondition` for
    ///   a terminated database.
    @discardableResult
    public nonisolated(nonsending) func retryDeadLetter(
        _ id: Int64
    ) async throws(LarderError) -> WriteHandle? {
        let handle = WriteHandle(self)
        let newID = try await answer { done in
            withClient(done) { client, done in handle.retry(id, client, done) }
        }
        return newID == nil ? nil : handle
    }

    /// Forgets a write that the backend has refused.
    ///
    /// - Returns: whether there was such a dead letter.
    /// - Throws: `failedPrecondition` for a terminated database; what the store reports.
    @discardableResult
    public nonisolated(nonsending) func discardDeadLetter(
        _ id: Int64
    ) async throws(LarderError) -> Bool {
        try await answer { done in
            withClient(done) { $0.discardDeadLetters([id], completion: $1) }
        } > 0
    }

    /// What has become of a write, also one of an earlier run of the program.
    ///
    /// - Parameter id: what ``WriteHandle/committedLocally()`` gave.
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func outcome(
        ofWrite id: Int64
    ) async throws(LarderError) -> WriteOutcome {
        try await read { (client) throws(LarderError) in
            WriteOutcome(try client.outcome(ofWrite: id), of: self)
        }
    }
}
