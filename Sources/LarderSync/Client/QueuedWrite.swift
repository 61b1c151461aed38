import LarderModel

/// A write on its way into a commit, with whom to tell.
struct QueuedWrite: Sendable {
    let write: PendingWrite
    /// Called with the batch's id once it is on disk, or with why it is not.
    let committed: @Sendable (Result<Int64, LarderError>) -> Void
    /// Called when the backend has answered, or the write was cancelled.
    let acknowledged: @Sendable (Result<Void, LarderError>) -> Void
}
