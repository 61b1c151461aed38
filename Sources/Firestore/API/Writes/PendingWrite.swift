public import Foundation
public import LarderModel
import LarderSync

/// A write, or a batch of them, that the backend has not acknowledged.
public struct PendingWrite: Sendable, Identifiable {
    /// The number under which ``Firestore/cancelPendingWrite(_:)`` takes it back; later writes
    /// have larger ones.
    public let id: Int64

    /// What it does, in order.
    public let changes: [WriteChange]

    /// The documents that it changes, each once, in the order of the changes.
    public var documents: [DocumentReference] { changes.documents }

    /// When it was made, by the local clock.
    public let writeTime: Timestamp

    /// How often the database tried in vain to have it committed, also where no connection came
    /// about or the backend refused to listen; counted for the oldest write alone, which the others
    /// wait for.
    public let attemptCount: Int

    /// When that was tried last; nil for never.
    public let lastAttempt: Timestamp?

    /// What the backend or the network said last; nil for nothing.
    public let lastError: String?

    /// How long ago it was made.
    public var age: TimeInterval {
        -writeTime.dateValue().timeIntervalSinceNow
    }

    init(_ batch: PendingBatch, of firestore: Firestore) {
        id = batch.id
        changes = batch.mutations.map { WriteChange($0, of: firestore) }
        writeTime = batch.localWriteTime
        attemptCount = Int(batch.attemptCount)
        lastAttempt = batch.lastAttempt
        lastError = batch.lastError
    }
}
