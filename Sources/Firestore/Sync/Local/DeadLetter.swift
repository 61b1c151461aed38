package import LarderModel
package import LarderStorage

/// A batch that the backend has refused, kept with the reason until the application has seen to
/// it.
package struct DeadLetter: Sendable {
    /// The id that the batch had in the queue.
    package let batchID: Int64
    /// Whose batch it was.
    package let user: UserID
    /// When it was written, by the local clock.
    package let localWriteTime: Timestamp
    /// What it would have done, in order.
    package let mutations: [Mutation]
    /// Why it was refused.
    package let error: LarderError
    /// The number of failed attempts before, sent or not.
    package let attemptCount: Int
    /// When it was refused, by the local clock.
    package let rejectionTime: Timestamp
}

/// What has become of a batch.
package enum BatchOutcome: Sendable {
    /// It waits for the backend.
    case pending
    /// The backend has refused it.
    case rejected(DeadLetter)
    /// The backend has committed it, or nothing is known of it: it was cancelled, its dead letter
    /// was discarded or tried again, or there never was one of that id.
    case acknowledgedOrUnknown
}
