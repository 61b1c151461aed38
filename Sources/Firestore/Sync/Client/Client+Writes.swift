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
            { $0.addPendingObserver(id, deliver) },
            otherwise: { deliver(.failure(Self.terminated)) })
        return ClientRegistration { [weak self] in
            self?.perform { $0.pendingObservers.remove(id) }
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
}
