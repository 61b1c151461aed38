import LarderDocumentStore
import LarderModel
import LarderRemote

extension Engine {
    /// Makes writes in one commit, then updates views and completes callers.
    func commit(_ writes: inout [QueuedWrite]) {
        guard !writes.isEmpty else { return }
        let group = writes
        writes.removeAll(keepingCapacity: true)
        guard !isTerminated else { return refuse(group, Client.terminated) }
        let results: [Result<(id: Int64, changes: [LocalChange]), LarderError>]
        do throws(LarderError) {
            results = try localStore.write(group, obeying: cacheRules)
        } catch {
            return refuse(group, error)
        }
        for (queued, result) in zip(group, results) {
            guard case .success(let batch) = result, batch.id != 0 else { continue }
            completions.add(queued.acknowledged, for: batch.id)
        }
        release(group.count)
        let changes = results.map { (try? $0.get().changes) ?? [] }
        if configuration.joinsSnapshotsOfCommit { apply(Array(changes.joined())) }
        for (index, queued) in group.enumerated() {
            if !configuration.joinsSnapshotsOfCommit {
                finish(
                    views.apply(
                        changes[index], before: changes[(index + 1)...], refill: refill))
            }
            queued.committed(results[index].map { $0.id })
            // Not in the queue: local only, or without mutations.
            if case .success((id: 0, _)) = results[index] {
                queued.acknowledged(.success(()))
            }
        }
        observers.pendingWrites.noteChange()
        if remote != nil { remoteStore.fillWritePipeline() }
    }

    /// Makes each mutation by itself in a local database, in one commit.
    func commitEachLocally(
        _ mutations: [Mutation], _ reply: Reply<[Result<MutationResult, LarderError>]>
    ) {
        guard !isTerminated else { return reply.send(.failure(Client.terminated)) }
        do throws(LarderError) {
            let made = try localStore.makeEach(mutations, at: configuration.clock())
            apply(made.changes)
            reply.send(.success(made.results))
        } catch {
            reply.send(.failure(error))
        }
    }

    private func refuse(_ writes: [QueuedWrite], _ error: LarderError) {
        release(writes.count)
        for queued in writes { queued.committed(.failure(error)) }
    }

    /// Releases reads that waited for writes.
    func release(_ count: Int) {
        for body in inbox.finish(count) { scheduler.read(body) }
    }

    /// Hands the next pending writes to the write pipeline.
    func sendWrites(after batchID: Int64, _ count: Int) {
        do throws(LarderError) {
            let maxBytes = count > WritePipeline.leastDepth ? WritePipeline.maxBytes : .max
            remoteStore.add(
                try localStore.batches(after: batchID, limit: count, maxBytes: maxBytes))
        } catch {
            recover(from: error)
        }
    }

    // MARK: Responses

    /// Takes batches that the backend has committed out of the queue, in one commit.
    func acknowledge(_ commits: inout [(batchID: Int64, response: CommitResponse)]) {
        guard !commits.isEmpty else { return }
        let group = commits
        commits = []
        attempt(committed: group.map(\.batchID)) { (engine) throws(LarderError) in
            let changes = try engine.localStore.acknowledge(group)
            engine.refusedWork.backoff.reset()
            engine.remoteStore.noteStored(group.map(\.batchID))
            for commit in group { engine.settle(commit.batchID, .success(())) }
            engine.finishWrites(changes)
        }
    }

    /// Takes a batch that the backend has rejected out of the queue.
    func reject(batchID: Int64, _ error: LarderError) {
        attempt { (engine) throws(LarderError) in
            let changes = try engine.localStore.reject(
                [batchID], because: error, at: engine.configuration.clock())
            engine.settle(batchID, .failure(error))
            engine.observers.deadLetters.noteChange()
            engine.finishWrites(changes)
        }
    }

    /// Records a failed attempt to send a batch.
    ///
    /// - Parameter wasSent: false if there was no stream to send it on.
    func noteAttempt(_ batchID: Int64, _ error: LarderError, wasSent: Bool) {
        do throws(LarderError) {
            try localStore.recordAttempt(
                toSend: batchID, at: configuration.clock(), failure: error.message)
        } catch {
            // Shown to those who look at the queue, and not used otherwise.
            log("an attempt to send a write could not be noted: \(error)")
        }
        observers.pendingWrites.noteChange()
        if wasSent { giveUpIfPoisoned(batchID, error) }
    }

    /// Gives up on a batch after too many attempts, so that those after it are sent.
    ///
    /// A connection that was lost, or was never established, does not count against the batch.
    private func giveUpIfPoisoned(_ batchID: Int64, _ error: LarderError) {
        guard let limit = configuration.maxWriteAttempts else { return }
        let count = completions.countAttempt(batchID)
        guard error.kind != .unavailable, count >= limit else { return }
        remoteStore.reject(
            batchID: batchID,
            LarderError(
                error.kind, "given up after \(count) attempts: \(error.message)", cause: error))
    }

    func finishWrites(_ changes: [LocalChange]) {
        apply(changes)
        collect()
        observers.pendingWrites.noteChange()
    }

    /// Completes callers waiting for a batch that has left the queue.
    func settle(_ batchID: Int64, _ result: Result<Void, LarderError>) {
        let (acknowledged, waiters) = completions.remove(batchID)
        acknowledged?(result)
        multiClient?.answer(batchID, .success(false))
        // Waiting for pending writes succeeds for rejected writes, too.
        for waiter in waiters { wait(upTo: batchID, waiter) }
    }

    func waitForPendingWrites(_ completion: @escaping Completion) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        wait(upTo: .max, completion)
    }

    /// Waits for the last pending batch up to an id: a later one may be cancelled before it.
    private func wait(upTo batchID: Int64, _ completion: @escaping Completion) {
        do throws(LarderError) {
            guard let last = try localStore.highestPendingBatchID(upTo: batchID) else {
                completion(.success(()))
                return
            }
            completions.addWaiter(completion, for: last)
        } catch {
            completion(.failure(error))
        }
    }

    // MARK: The queue

    func observePendingWrites(
        _ id: ID, _ deliver: @escaping ListObservers<MutationBatch>.Deliver
    ) {
        observers.pendingWrites.add(id, deliver) { () throws(LarderError) in
            try localStore.pendingBatches()
        }
    }

    func observeDeadLetters(_ id: ID, _ deliver: @escaping ListObservers<DeadLetter>.Deliver) {
        observers.deadLetters.add(id, deliver) { () throws(LarderError) in
            try localStore.deadLetters()
        }
    }

    /// Sends the queue and the dead letters to their observers, if they have changed.
    func sendQueueChanges() {
        observers.pendingWrites.sendChange { () throws(LarderError) in
            try localStore.pendingBatches()
        }
        observers.deadLetters.sendChange { () throws(LarderError) in
            try localStore.deadLetters()
        }
    }

    /// Applies the write of a dead letter once more.
    ///
    /// - Parameters:
    ///   - committed: called with the new batch's id, 0 if it was not queued; nil when there is no
    ///     such dead letter.
    ///   - acknowledged: called when the backend has answered, if there is a new batch.
    func retryDeadLetter(
        _ batchID: Int64, committed: @Sendable (Result<Int64?, LarderError>) -> Void,
        acknowledged: @escaping Completion
    ) {
        guard !isTerminated else { return committed(.failure(Client.terminated)) }
        do throws(LarderError) {
            guard
                let batch = try localStore.retryDeadLetter(
                    batchID, localWriteTime: configuration.clock(), obeying: cacheRules)
            else { return committed(.success(nil)) }
            if batch.id != 0 { completions.add(acknowledged, for: batch.id) }
            observers.deadLetters.noteChange()
            finishWrites(batch.changes)
            committed(.success(batch.id))
            if batch.id == 0 { acknowledged(.success(())) }
            if remote != nil { remoteStore.fillWritePipeline() }
        } catch {
            committed(.failure(error))
        }
    }

    func discardDeadLetters(
        _ batchIDs: [Int64], _ completion: @Sendable (Result<Int, LarderError>) -> Void
    ) {
        observers.deadLetters.noteChange()
        completion(
            Result { () throws(LarderError) in try localStore.discardDeadLetters(batchIDs) })
    }
}
