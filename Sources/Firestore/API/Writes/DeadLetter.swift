public import LarderModel
import LarderSync

/// A write, or a batch of them, that the backend has refused or that was given up.
///
/// Its documents are as if it had never been made. It is kept until the application has tried it
/// again or discarded it.
public struct DeadLetter: Sendable, Identifiable {
    /// The number that the write had in the queue; see ``Firestore/retryDeadLetter(_:)`` and
    /// ``Firestore/discardDeadLetter(_:)``.
    public let id: Int64

    /// What it would have done, in order.
    public let changes: [WriteChange]

    /// The documents that it would have changed, each once, in the order of the changes.
    public var documents: [DocumentReference] { changes.documents }

    /// Why it was refused.
    public let error: LarderError

    /// When it was made, by the local clock.
    public let writeTime: Timestamp

    /// When it was refused, by the local clock.
    public let rejectionTime: Timestamp

    /// The number of failed attempts before; see ``PendingWrite/attemptCount``.
    public let attemptCount: Int

    init(_ letter: LarderSync.DeadLetter, of firestore: Firestore) {
        id = letter.batchID
        changes = letter.mutations.map { WriteChange($0, of: firestore) }
        error = letter.error
        writeTime = letter.localWriteTime
        rejectionTime = letter.rejectionTime
        attemptCount = letter.attemptCount
    }
}

/// What has become of a write.
public enum WriteOutcome: Sendable {
    /// It waits for the backend.
    case pending
    /// The backend has refused it, or it was given up.
    case rejected(DeadLetter)
    /// The backend has accepted it, or nothing is known of it: it was taken back, its dead letter
    /// was discarded or tried again, or there never was one of that number.
    case acknowledgedOrUnknown

    init(_ outcome: BatchOutcome, of firestore: Firestore) {
        self =
            switch outcome {
            case .pending: .pending
            case .rejected(let letter): .rejected(DeadLetter(letter, of: firestore))
            case .acknowledgedOrUnknown: .acknowledgedOrUnknown
            }
    }
}
