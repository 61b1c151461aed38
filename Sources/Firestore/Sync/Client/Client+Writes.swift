package import LarderModel

extension Client {
    /// Makes changes atomically: durable locally, and pending for the backend.
    ///
    /// Returns at once. Waiting writes share a commit; later reads of this client see it.
    ///
    /// - Parameters:
    ///   - mutations: the changes, at least one.
    ///   - expectations: documents that must be unchanged; otherwise the write fails with
    ///     `aborted`.
    ///   - committed: called with the batch's id once it is durable, or with an error.
    ///   - acknowledged: called when the backend has answered, or with `cancelled` when the write
    ///     is cancelled or the client terminated before; never after an error of `committed`.
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
    package func pendingWrites() throws(LarderError) -> [MutationBatch] {
        try checkOpen()
        return try engine.localStore.pendingBatches()
    }

    /// Calls a closure with the pending writes, now and after each change.
    package func observePendingWrites(
        _ deliver: @escaping @Sendable (Result<[MutationBatch], LarderError>) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform(
            { $0.observePendingWrites(id, deliver) },
            otherwise: { deliver(.failure(Self.terminated)) })
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.pendingWrites.remove(id) }
        }
    }

    /// Cancels a pending write, and reverts its effects.
    ///
    /// Waiting cancellations share a commit, and a snapshot of each listener.
    ///
    /// - Parameters:
    ///   - completion: called with whether it was still pending.
    package func cancelWrite(
        _ batchID: Int64, completion: @escaping @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        let cancellation = QueuedCancellation(batchID: batchID, completion: completion)
        if !engine.add(.cancelWrite(cancellation)) { completion(.failure(Self.terminated)) }
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

    /// The writes that the backend has rejected, in the order of their creation.
    package func deadLetters() throws(LarderError) -> [DeadLetter] {
        try checkOpen()
        return try engine.localStore.deadLetters()
    }

    /// The outcome of a write.
    package func outcome(ofWrite batchID: Int64) throws(LarderError) -> BatchOutcome {
        try checkOpen()
        return try engine.localStore.outcome(of: batchID)
    }

    /// Calls a closure with the dead letters, now and after each change.
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

    /// Queues the mutations of a dead letter as a new write.
    ///
    /// - Parameters:
    ///   - batchID: the id of the rejected write.
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

    /// Discards dead letters.
    ///
    /// - Parameter completion: called with the number discarded.
    package func discardDeadLetters(
        _ batchIDs: [Int64], completion: @escaping @Sendable (Result<Int, LarderError>) -> Void
    ) {
        perform(
            { $0.discardDeadLetters(batchIDs, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }
}
