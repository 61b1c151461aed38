import LarderModel
import LarderQuery

/// A write on its way into a commit, with whom to tell.
struct QueuedWrite: Sendable {
    let write: PendingWrite
    /// Called with the batch's id once it is on disk, or with why it is not.
    let committed: @Sendable (Result<Int64, LarderError>) -> Void
    /// Called when the backend has answered, or the write was cancelled.
    let acknowledged: @Sendable (Result<Void, LarderError>) -> Void

    /// Whether it may change what is in a place; nil for all that there is.
    func touches(_ source: Query.Source?) -> Bool {
        switch source {
        case nil: true
        case .document(let path)?: write.mutations.contains { $0.path == path }
        case .collection(let path)?: write.mutations.contains { path.contains($0.path) }
        case .group(let id)?: write.mutations.contains { $0.path.collectionGroup == id }
        }
    }
}
