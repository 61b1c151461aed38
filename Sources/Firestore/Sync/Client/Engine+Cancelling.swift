import LarderDocumentStore
import LarderModel

/// Writes that the application takes back before the backend has them. Only the client that uses
/// the network knows which were sent: the others ask it.
extension Engine {
    typealias Cancelled = @Sendable (Result<Bool, LarderError>) -> Void

    /// Takes a write back, unless it may have been sent.
    func cancelWrite(_ batchID: Int64, _ completion: @escaping Cancelled) {
        do throws(LarderError) {
            let (store, user) = (localStore.store, localStore.user)
            let isPending = try store.read { (transaction) throws(LarderError) in
                try transaction.mutationBatch(batchID, of: user) != nil
            }
            guard isPending else { return completion(.success(false)) }
        } catch {
            return completion(.failure(error))
        }
        guard isPrimary else {
            membership?.cancellations[
                batchID, default: Membership.Cancellation(user: session.user)
            ].completions.append(completion)
            membership?.unsent.cancellations.append(batchID)
            membership?.unsent.user = session.user
            return
        }
        completion(Result { () throws(LarderError) in try cancel(batchID, of: session.user) })
    }

    /// The other clients' wishes, for the primary.
    func cancelWrites(_ batchIDs: [Int64], of user: UserID) {
        for id in batchIDs {
            // What fails is answered as what was sent: the write stays.
            if (try? cancel(id, of: user)) != true {
                membership?.unsent.batches.append(StoreNews.Batch(id, .kept))
            }
        }
    }

    /// The primary does not know what this client has asked for, or its answer was missed.
    ///
    /// Batches of users before this one stay.
    func repeatCancellations() {
        guard let waiting = membership?.cancellations else { return }
        let user = session.user
        for (id, wish) in waiting where wish.user != user {
            answerCancellation(id, .success(false))
        }
        membership?.unsent.cancellations = waiting.filter { $0.value.user == user }.keys.sorted()
        membership?.unsent.user = user
    }

    /// This client is primary now, and does itself what it has asked for.
    func cancelOwnWrites() {
        guard let waiting = membership?.cancellations, !waiting.isEmpty else { return }
        membership?.cancellations = [:]
        membership?.unsent.cancellations = []
        for (id, wish) in waiting.sorted(by: { $0.key < $1.key }) {
            let result = Result { () throws(LarderError) in try cancel(id, of: wish.user) }
            for completion in wish.completions { completion(result) }
        }
    }

    /// A write was taken back.
    func settleCancelled(_ batchID: Int64) {
        answerCancellation(batchID, .success(true))
        settle(batchID, .failure(LarderError(.cancelled, "the write was cancelled")))
    }

    /// Tells who wants a write back whether that is so.
    func answerCancellation(_ batchID: Int64, _ result: Result<Bool, LarderError>) {
        let waiting = membership?.cancellations.removeValue(forKey: batchID)
        for completion in waiting?.completions ?? [] { completion(result) }
    }

    /// - Returns: false for a write that may have been sent, or is not pending any more.
    private func cancel(_ batchID: Int64, of user: UserID) throws(LarderError) -> Bool {
        guard !refusedWork.contains(where: { $0.committedBatches.contains(batchID) }) else {
            return false
        }
        let isOwn = user == session.user
        if isOwn, !remoteStore.forget(batchID: batchID) { return false }
        let changes: [LocalViewChange]
        do throws(LarderError) {
            changes = try localStore.as(user).cancel([batchID])
        } catch {
            // The batch stays in the queue, so the network side must hear of it again.
            if isOwn { recover(from: error) }
            throw error
        }
        guard !changes.isEmpty else { return false }
        settleCancelled(batchID)
        if isOwn { finishWrites(changes) }
        return true
    }
}
