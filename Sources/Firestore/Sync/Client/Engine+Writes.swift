import LarderDocumentStore
import LarderModel
import LarderRemote

extension Engine {
    /// Makes writes in one commit, then tells everybody whom they concern.
    func commit(_ writes: inout [QueuedWrite]) {
        guard !writes.isEmpty else { return }
        let group = writes
        writes.removeAll(keepingCapacity: true)
        guard !isTerminated else {
            release(group.count)
            for queued in group { queued.committed(.failure(Client.terminated)) }
            return
        }
        let results: [Result<(id: Int64, changes: [LocalViewChange]), LarderError>]
        do throws(LarderError) {
            results = try localStore.write(group)
        } catch {
            release(group.count)
            for queued in group { queued.committed(.failure(error)) }
            return
        }
        var changes: [LocalViewChange] = []
        for (queued, result) in zip(group, results) {
            guard case .success(let batch) = result else { continue }
            acknowledgements[batch.id] = queued.acknowledged
            changes += batch.changes
        }
        release(group.count)
        apply(changes)
        for (queued, result) in zip(group, results) { queued.committed(result.map { $0.id }) }
        pendingObservers.noteChange()
        if remote != nil { remoteStore.fillWritePipeline() }
    }

    /// Lets reads go on that waited for writes.
    func release(_ count: Int) {
        for body in inbox.finish(count) { scheduler.read(body) }
    }

    /// Hands the next pending writes to the network side.
    func sendWrites(after batchID: Int64, _ count: Int) {
        do throws(LarderError) {
            let maxBytes = count > WritePipeline.leastDepth ? WritePipeline.maxBytes : .max
            remoteStore.add(
                try localStore.batches(after: batchID, limit: count, maxBytes: maxBytes))
        } catch {
            recover(from: error)
        }
    }

    // MARK: What becomes of them

    /// The backend has committed batches: takes them out of the queue in one commit.
    func acknowledge(_ acknowledgements: inout [BatchAcknowledgement]) {
        guard !acknowledgements.isEmpty else { return }
        let group = acknowledgements
        acknowledgements = []
        attempt(committed: group.map(\.batchID)) { (engine) throws(LarderError) in
            try engine.applied(group)
        }
    }

    private func applied(_ group: [BatchAcknowledgement]) throws(LarderError) {
        let changes = try localStore.acknowledge(group)
        recoveryBackoff.reset()
        for acknowledgement in group { settle(acknowledgement.batchID, .success(())) }
        finishWrites(changes)
    }

    /// The backend refuses a batch for good.
    func reject(batchID: Int64, _ error: LarderError) {
        attempt { (engine) throws(LarderError) in try engine.rejected(batchID, error) }
    }

    private func rejected(_ batchID: Int64, _ error: LarderError) throws(LarderError) {
        let changes = try localStore.reject([batchID], because: error, at: clock())
        settle(batchID, .failure(error))
        deadLetterObservers.noteChange()
        finishWrites(changes)
    }

    /// A batch could not be sent this time.
    ///
    /// - Parameter wasSent: whether it was on its way, or there was no stream to send it on.
    func noteAttempt(_ batchID: Int64, _ error: LarderError, wasSent: Bool) {
        do throws(LarderError) {
            try localStore.recordAttempt(toSend: batchID, at: clock(), failure: error.message)
        } catch {
            // It is only told to those who look at the queue.
            log("an attempt to send a write could not be noted: \(error)")
        }
        pendingObservers.noteChange()
        if wasSent { giveUpIfPoisoned(batchID, error) }
    }

    /// Gives up on a batch that was sent too often, so that those behind it go on.
    ///
    /// A connection that was lost, or never came about, says nothing about the batch.
    private func giveUpIfPoisoned(_ batchID: Int64, _ error: LarderError) {
        guard let limit = maxWriteAttempts else { return }
        let count = sentCounts[batchID, default: 0] + 1
        sentCounts[batchID] = count
        guard error.kind != .unavailable, count >= limit else { return }
        remoteStore.reject(
            batchID: batchID,
            LarderError(
                error.kind, "given up after \(count) attempts: \(error.message)", cause: error))
    }

    func finishWrites(_ changes: [LocalViewChange]) {
        apply(changes)
        collect()
        pendingObservers.noteChange()
    }

    /// Tells who waits for a batch that it is no longer pending.
    func settle(_ batchID: Int64, _ result: Result<Void, LarderError>) {
        sentCounts[batchID] = nil
        acknowledgements.removeValue(forKey: batchID)?(result)
        answerCancellation(batchID, .success(false))
        // Waiting for pending writes ends well also when a write was rejected.
        for waiter in pendingWaiters.removeValue(forKey: batchID) ?? [] {
            wait(upTo: batchID, waiter)
        }
    }

    func waitForPendingWrites(_ completion: @escaping Completion) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        wait(upTo: .max, completion)
    }

    /// Waits for the last batch that is pending among those up to an id: a later one may be
    /// taken back before it.
    private func wait(upTo batchID: Int64, _ completion: @escaping Completion) {
        do throws(LarderError) {
            guard let last = try localStore.highestPendingBatchID(upTo: batchID) else {
                completion(.success(()))
                return
            }
            pendingWaiters[last, default: []].append(completion)
        } catch {
            completion(.failure(error))
        }
    }

    /// Tells everybody who waits for pending writes that they wait no longer.
    func failPendingWaiters(_ error: LarderError) {
        let waiters = pendingWaiters.sorted { $0.key < $1.key }.flatMap(\.value)
        pendingWaiters = [:]
        for waiter in waiters { waiter(.failure(error)) }
    }
}
