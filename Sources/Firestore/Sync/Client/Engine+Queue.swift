import LarderModel

extension Engine {
    func addPendingObserver(
        _ id: ID, _ deliver: @escaping ListObservers<PendingBatch>.Deliver
    ) {
        pendingObservers.add(id, deliver) { () throws(LarderError) in
            try localStore.pendingBatches()
        }
    }

    func addDeadLetterObserver(
        _ id: ID, _ deliver: @escaping ListObservers<DeadLetter>.Deliver
    ) {
        deadLetterObservers.add(id, deliver) { () throws(LarderError) in
            try localStore.deadLetters()
        }
    }

    /// Tells observers of the queue and of the dead letters what they are now, if they have
    /// changed.
    func tellQueueObservers() {
        pendingObservers.sendChange { () throws(LarderError) in try localStore.pendingBatches() }
        deadLetterObservers.sendChange { () throws(LarderError) in try localStore.deadLetters() }
    }

    /// Puts what a dead letter holds into the queue once more.
    ///
    /// - Parameters:
    ///   - committed: called with the new batch's id; nil when there is no such dead letter.
    ///   - acknowledged: called when the backend has answered, if there is a new batch.
    func retryDeadLetter(
        _ batchID: Int64, committed: @Sendable (Result<Int64?, LarderError>) -> Void,
        acknowledged: @escaping Completion
    ) {
        guard !isTerminated else { return committed(.failure(Client.terminated)) }
        do throws(LarderError) {
            guard
                let batch = try localStore.retryDeadLetter(batchID, localWriteTime: clock())
            else { return committed(.success(nil)) }
            acknowledgements[batch.id] = acknowledged
            deadLetterObservers.noteChange()
            finishWrites(batch.changes)
            committed(.success(batch.id))
            if remote != nil { remoteStore.fillWritePipeline() }
        } catch {
            committed(.failure(error))
        }
    }

    func discardDeadLetters(
        _ batchIDs: [Int64], _ completion: @Sendable (Result<Int, LarderError>) -> Void
    ) {
        deadLetterObservers.noteChange()
        completion(
            Result { () throws(LarderError) in try localStore.discardDeadLetters(batchIDs) })
    }
}
