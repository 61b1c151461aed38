package import LarderModel

extension Client {
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
            { $0.addDeadLetterObserver(id, deliver) },
            otherwise: { deliver(.failure(Self.terminated)) })
        return ClientRegistration { [weak self] in
            self?.perform { $0.deadLetterObservers.remove(id) }
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
