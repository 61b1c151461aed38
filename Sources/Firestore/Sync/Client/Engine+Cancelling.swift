import LarderDocumentStore
import LarderModel

/// A request to cancel a pending write, on its way to the queue.
struct QueuedCancellation: Sendable {
    let batchID: Int64
    /// Called with whether the write was still pending.
    let completion: @Sendable (Result<Bool, LarderError>) -> Void
}

extension Engine {
    /// Takes writes out of the queue in one commit, except those that may have been sent.
    ///
    /// Only the client that uses the network knows which were sent: the others ask it.
    func cancelWrites(_ cancellations: inout [QueuedCancellation]) {
        guard !cancellations.isEmpty else { return }
        let group = cancellations
        cancellations.removeAll(keepingCapacity: true)
        guard !isTerminated else {
            for request in group { request.completion(.failure(Client.terminated)) }
            return
        }
        defer { pump() }
        let user = session.user
        let pending: Set<Int64>
        do throws(LarderError) {
            pending = try store.read { (transaction) throws(LarderError) in
                var pending = Set<Int64>()
                for id in Set(group.map(\.batchID))
                where try transaction.mutationBatch(id, of: user) != nil {
                    pending.insert(id)
                }
                return pending
            }
        } catch {
            for request in group { request.completion(.failure(error)) }
            return
        }
        guard isPrimary else {
            for request in group {
                if pending.contains(request.batchID) {
                    multiClient?.cancel(request.batchID, of: user, request.completion)
                } else {
                    request.completion(.success(false))
                }
            }
            return
        }
        var seen = Set<Int64>()
        let ids = group.map(\.batchID).filter {
            pending.contains($0) && seen.insert($0).inserted
        }
        do throws(LarderError) {
            var cancelled = try cancel(ids, of: user)
            // Of several requests for a write, the first has cancelled it.
            for request in group {
                request.completion(.success(cancelled.remove(request.batchID) != nil))
            }
        } catch {
            for request in group {
                request.completion(
                    pending.contains(request.batchID) ? .failure(error) : .success(false))
            }
        }
    }

    /// Cancels writes of a user in one commit.
    ///
    /// - Parameter batchIDs: the writes, each once.
    /// - Returns: the cancelled ones, without those that may have been sent or are no longer
    ///   pending.
    func cancel(_ batchIDs: [Int64], of user: UserID) throws(LarderError) -> Set<Int64> {
        let isOwn = user == session.user
        let unsent = batchIDs.filter { id in
            !refusedWork.hasCommitted(id) && (!isOwn || remoteStore.forget(batchID: id))
        }
        guard !unsent.isEmpty else { return [] }
        let (cancelled, changes): ([Int64], [LocalChange])
        do throws(LarderError) {
            (cancelled, changes) = try localStore.as(user).cancelPending(unsent)
        } catch {
            // The batches stay in the queue, so that the pipeline must get them again.
            if isOwn { recover(from: error) }
            throw error
        }
        guard !cancelled.isEmpty else { return [] }
        for id in cancelled { settleCancelled(id) }
        if isOwn { finishWrites(changes) }
        return Set(cancelled)
    }

    /// Completes callers waiting for a batch that was cancelled.
    func settleCancelled(_ batchID: Int64) {
        multiClient?.answer(batchID, .success(true))
        settle(batchID, .failure(LarderError(.cancelled, "the write was cancelled")))
    }
}
