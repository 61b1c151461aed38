import LarderModel
import LarderQuery

/// A listener on its way to the view of its query.
struct QueuedListener: Sendable {
    let id: Engine.ID
    let query: Query
    let options: ListenOptions
    let deliver: @Sendable (Result<ViewSnapshot, LarderError>) -> Void
}
