import Dispatch
import LarderModel

extension Engine {
    /// Makes writes in one commit, then tells everybody whom they concern.
    func commit(_ writes: inout [QueuedWrite]) {
        guard !writes.isEmpty else { return }
        let group = writes
        writes.removeAll(keepingCapacity: true)
        let results: [Result<WrittenBatch, LarderError>]
        do throws(LarderError) {
            results = try localStore.write(group.map(\.write))
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
        for (queued, result) in zip(group, results) { queued.committed(result.map(\.id)) }
        notePendingChange()
    }

    /// Lets reads go on that waited for writes.
    func release(_ count: Int) {
        for body in inbox.finish(count) { readers.async(execute: body) }
    }

    func cancelWrite(
        _ batchID: Int64, _ completion: @Sendable (Result<Bool, LarderError>) -> Void
    ) {
        let changes: [LocalViewChange]
        do throws(LarderError) {
            guard try localStore.pendingBatches().contains(where: { $0.id == batchID }) else {
                completion(.success(false))
                return
            }
            changes = try localStore.reject([batchID])
        } catch {
            completion(.failure(error))
            return
        }
        settle(batchID, .failure(LarderError(.cancelled, "the write was cancelled")))
        apply(changes)
        completion(.success(true))
        notePendingChange()
    }

    /// Tells who waits for a batch that it is no longer pending.
    private func settle(_ batchID: Int64, _ result: Result<Void, LarderError>) {
        acknowledgements.removeValue(forKey: batchID)?(result)
        // Waiting for pending writes ends well also when a write was rejected.
        for waiter in pendingWaiters.removeValue(forKey: batchID) ?? [] { waiter(.success(())) }
    }

    func waitForPendingWrites(_ completion: @escaping Completion) {
        do throws(LarderError) {
            guard let last = try localStore.highestPendingBatchID() else {
                completion(.success(()))
                return
            }
            pendingWaiters[last, default: []].append(completion)
        } catch {
            completion(.failure(error))
        }
    }

    func addPendingObserver(
        _ id: ID, _ deliver: @escaping @Sendable (Result<[PendingBatch], LarderError>) -> Void
    ) {
        pendingObservers[id] = deliver
        deliver(Result { () throws(LarderError) in try localStore.pendingBatches() })
    }

    func removePendingObserver(_ id: ID) {
        pendingObservers[id] = nil
    }

    private func notePendingChange() {
        guard !pendingObservers.isEmpty else { return }
        let batches = Result { () throws(LarderError) in try localStore.pendingBatches() }
        for deliver in pendingObservers.values { deliver(batches) }
    }
}
