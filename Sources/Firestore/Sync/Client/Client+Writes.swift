package import LarderModel

extension Client {
    /// Makes changes together: durably here, and pending for the backend.
    ///
    /// Returns at once. Whatever else waits goes into the same commit; later reads of this client
    /// see it.
    ///
    /// - Parameters:
    ///   - mutations: the changes, at least one.
    ///   - expectations: what must still hold of documents; otherwise the write is refused with
    ///     `aborted`.
    ///   - committed: called with the batch's id once it is durable, or with why it was refused.
    ///   - acknowledged: called when the backend has answered, or with `cancelled` when the write
    ///     was cancelled or the client is terminated before; not when it was refused here.
    package func write(
        _ mutations: [Mutation], expectations: [QueuedWrite.Expectation] = [],
        committed: @escaping @Sendable (Result<Int64, LarderError>) -> Void,
        acknowledged: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        let write = QueuedWrite(
            mutations: mutations, localWriteTime: clock(), expectations: expectations,
            committed: committed, acknowledged: acknowledged)
        if !engine.add(.write(write)) { committed(.failure(Self.terminated)) }
    }

    /// The writes that the backend has not acknowledged, oldest first.
    package func pendingWrites() throws(LarderError) -> [PendingBatch] {
        try checkOpen()
        return try engine.localStore.pendingBatches()
    }

    /// Calls a closure with the pending writes, now and after each change of them, in order.
    package func observePendingWrites(
        _ deliver: @escaping @Sendable (Result<[PendingBatch], LarderError>) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform(
            { $0.observePendingWrites(id, deliver) },
            otherwise: { deliver(.failure(Self.terminated)) })
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.pendingWrites.remove(id) }
        }
    }

    /// Takes a pending write back: the documents become as if it had never been made.
    ///
    /// - Parameters:
    ///   - batchID: the batch's id.
    ///   - completion: called with whether it was still pending.
    package func cancelWrite(
        _ batchID: Int64, completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        perform(
            { $0.cancelWrite(batchID, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Calls a closure when every write that is pending now is acknowledged, rejected or
    /// cancelled; at once when there is none.
    package func waitForPendingWrites(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.waitForPendingWrites(completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Dead letters

    /// The writes that the backend has refused, in the order in which they were made.
    package func deadLetters() throws(LarderError) -> [DeadLetter] {
        try checkOpen()
        return try engine.localStore.deadLetters()
    }

    /// What has become of a write.
    package func outcome(ofWrite batchID: Int64) throws(LarderError) -> BatchOutcome {
        try checkOpen()
        return try engine.localStore.outcome(of: batchID)
    }

    /// Calls a closure with the dead letters, now and after each change of them, in order.
    package func observeDeadLetters(
        _ deliver: @escaping @Sendable (Result<[DeadLetter], LarderError>) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform(
            { $0.observeDeadLetters(id, deliver) },
            otherwise: { deliver(.failure(Self.terminated)) })
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.deadLetters.remove(id) }
        }
    }

    /// Puts what a dead letter holds into the queue once more, as a new write.
    ///
    /// - Parameters:
    ///   - batchID: the id of the write that was refused.
    ///   - committed: called with the new write's id; nil when there is no such dead letter.
    ///   - acknowledged: called when the backend has answered; not without a new write.
    package func retryDeadLetter(
        _ batchID: Int64, committed: @escaping @Sendable (Result<Int64?, LarderError>) -> Void,
        acknowledged: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.retryDeadLetter(batchID, committed: committed, acknowledged: acknowledged) },
            otherwise: { committed(.failure(Self.terminated)) })
    }

    /// Forgets dead letters.
    ///
    /// - Parameter completion: called with how many of them there were.
    package func discardDeadLetters(
        _ batchIDs: [Int64], completion: @escaping @Sendable (Result<Int, LarderError>) -> Void
    ) {
        perform(
            { $0.discardDeadLetters(batchIDs, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}
