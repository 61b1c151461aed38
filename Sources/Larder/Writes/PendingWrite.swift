public import Foundation
public import LarderModel
import LarderSync

/// A write, or a batch of them, that the backend has not acknowledged.
public struct PendingWrite: Sendable, Identifiable {
    /// The number under which ``Firestore/cancelPendingWrite(_:)`` takes it back; later writes
    /// have larger ones.
    public let id: Int64

    /// The documents that it changes, each once, in the order of the changes.
    public let documents: [DocumentReference]

    /// When it was made, by the local clock.
    public let writeTime: Timestamp

    /// How often it was sent.
    public let attemptCount: Int

    /// When it was sent last; nil for never.
    public let lastAttempt: Timestamp?

    /// What the backend or the network said last; nil for nothing.
    public let lastError: String?

    /// How long ago it was made.
    public var age: TimeInterval {
        -writeTime.dateValue().timeIntervalSinceNow
    }

    init(_ batch: PendingBatch, of firestore: Firestore) {
        id = batch.id
        var seen: Set<DocumentPath> = []
        documents = batch.mutations.compactMap { mutation in
            seen.insert(mutation.path).inserted
                ? DocumentReference(firestore, mutation.path) : nil
        }
        writeTime = batch.localWriteTime
        attemptCount = Int(batch.attemptCount)
        lastAttempt = batch.lastAttempt
        lastError = batch.lastError
    }
}
