public import LarderModel
import LarderSync

/// A write or batch that the backend rejected or that was abandoned.
///
/// Its effect on documents is reverted. It is kept until the application retries or discards it.
public struct DeadLetter: Sendable, Identifiable {
    /// The ID that the write had in the queue; see ``Firestore/retryDeadLetter(_:)`` and
    /// ``Firestore/discardDeadLetter(_:)``.
    public let id: Int64

    /// The changes of the write, in order.
    public let changes: [WriteChange]

    /// The affected documents without duplicates, in the order of the changes.
    public var documents: [DocumentReference] { changes.documents }

    /// The reason for the rejection.
    public let error: LarderError

    /// The local time of the write.
    public let writeTime: Timestamp

    /// The local time of the rejection.
    public let rejectionTime: Timestamp

    /// The number of earlier failed attempts; see ``PendingWrite/attemptCount``.
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

extension DeadLetter: CustomStringConvertible {
    /// The ID, the time, the first changes, and the reason, on one line.
    public var description: String {
        "dead letter \(id) of \(writeTime): \(changes.summary); rejected at \(rejectionTime): "
            + error.message
    }
}

/// The outcome of a write.
public enum WriteOutcome: Sendable {
    /// The write is waiting for the backend.
    case pending
    /// The backend rejected the write, or it was abandoned.
    case rejected(DeadLetter)
    /// The backend accepted the write, or the ID is unknown: the write was cancelled, its dead
    /// letter was discarded or retried, or it never existed.
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

// MARK: - DeadLetters

extension Firestore {
    /// The rejected writes in the order in which they were made, including those of earlier runs of
    /// the program.
    ///
    /// Runs on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func deadLetters() async throws(LarderError) -> [DeadLetter] {
        try await read { (client) throws(LarderError) in
            try client.deadLetters().map { DeadLetter($0, of: self) }
        }
    }

    /// The rejected writes, now and after each change.
    ///
    /// Only the newest list is buffered: a slow consumer skips lists, but never the last one.
    public var deadLetterUpdates: SnapshotSequence<[DeadLetter]> {
        SnapshotSequence(.bufferingNewest(1)) { [self] deliver in
            let registration = Registration()
            do throws(LarderError) {
                registration.attach(
                    try connection.client().observeDeadLetters { result in
                        guard registration.isActive else { return }
                        deliver(result.map { $0.map { DeadLetter($0, of: self) } })
                    })
            } catch {
                deliver(.failure(error))
            }
            return registration
        }
    }

    /// Retries a rejected write, after all pending ones.
    ///
    /// - Returns: the new write, committed locally; nil if there is no such dead letter.
    /// - Throws: the error of the new write, in which case the dead letter is kept;
    ///   `failedPrecondition` for a terminated database.
    @discardableResult
    public nonisolated(nonsending) func retryDeadLetter(
        _ id: Int64
    ) async throws(LarderError) -> WriteHandle? {
        let handle = WriteHandle(self)
        let newID = try await answer { done in
            withClient(done) { client, done in handle.retry(id, client, done) }
        }
        return newID == nil ? nil : handle
    }

    /// Discards a rejected write.
    ///
    /// - Returns: false if there is no such dead letter.
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func discardDeadLetter(
        _ id: Int64
    ) async throws(LarderError) -> Bool {
        try await answer { done in
            withClient(done) { $0.discardDeadLetters([id], completion: $1) }
        } > 0
    }

    /// The outcome of a write, which may be of an earlier run of the program.
    ///
    /// - Parameter id: the ID returned by ``WriteHandle/committedLocally()``.
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func outcome(
        ofWrite id: Int64
    ) async throws(LarderError) -> WriteOutcome {
        try await read { (client) throws(LarderError) in
            WriteOutcome(try client.outcome(ofWrite: id), of: self)
        }
    }
}
