package import LarderModel

/// A batch of the queue, as it waits for the backend.
package struct PendingBatch: Sendable {
    /// The batch's id: it rises over all users and is never used again.
    package let id: Int64
    /// When it was written, by the local clock.
    package let localWriteTime: Timestamp
    /// What it does, in order.
    package let mutations: [Mutation]
    /// How often it was tried in vain to have it committed, sent or not.
    package let attemptCount: Int
    /// When that was tried last; nil for never.
    package let lastAttempt: Timestamp?
    /// The text of the last failure; nil for none.
    package let lastError: String?
    /// About how many bytes it takes.
    package var sizeBytes = 0
}
