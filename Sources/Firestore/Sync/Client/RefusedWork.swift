import LarderModel
import LarderRemote

/// Work on the store that is repeated when the disk refuses it.
struct StoreWork: Sendable {
    /// Why the network is not used until it is done.
    let cause: OfflineCauses
    /// True if it only reads, which does not prove that the store can be written.
    var isProbe = false
    /// The batches it takes out of the queue, since the backend has committed them.
    var committedBatches: [Int64] = []
    /// Called if it will not be done.
    var fail: @Sendable (LarderError) -> Void = { _ in }
    let body: @Sendable (isolated Engine) throws(LarderError) -> Void
}

/// The work that the disk has refused, oldest first, and the wait before the next attempt.
struct RefusedWork {
    var queue: [StoreWork] = []
    var backoff = Backoff.firestore

    /// Returns true if the backend has committed a batch that is still in the queue.
    func hasCommitted(_ batchID: Int64) -> Bool {
        queue.contains { $0.committedBatches.contains(batchID) }
    }

    mutating func fail(_ error: LarderError) {
        for work in queue { work.fail(error) }
        queue = []
    }
}
