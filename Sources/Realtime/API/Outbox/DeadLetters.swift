public import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
public import LarderRuntime

extension Database {
    /// A write that the server has refused, or a transaction that could not be finished.
    ///
    /// Its effect is reverted. It is kept until the application retries or discards it.
    public struct DeadLetter: Sendable, Identifiable {
        /// The ID that the write had in the queue; see ``Database/retryDeadLetter(_:)`` and
        /// ``Database/discardDeadLetter(_:)``.
        public let id: Int64

        /// The locations that the write was to replace, with the data.
        public let changes: [WriteChange]

        /// The reason.
        public let error: DatabaseError

        /// The time of the write by the local clock.
        public let writeTime: Timestamp

        /// The time of the refusal by the local clock.
        public let rejectionTime: Timestamp

        init(_ write: DeadWrite, of database: Database) {
            id = write.id.rawValue
            changes = WriteChange.changes(of: write.request, in: database)
            error = DatabaseError(write.error)
            writeTime = write.writeTime
            rejectionTime = write.refusalTime
        }
    }

    /// The refused writes in the order in which they were made, including those of earlier runs of
    /// the program.
    ///
    /// - Throws: `failedPrecondition` for a closed database; `dataLoss` for a damaged store.
    public nonisolated(nonsending) func deadLetters() async throws(DatabaseError) -> [DeadLetter] {
        let writes = try await ask { $0.deadWrites(completion: $1) }
        return writes.map { DeadLetter($0, of: self) }
    }

    /// The refused writes, now and after each change.
    ///
    /// Only the newest list is buffered: a slow consumer skips lists, but never the last one.
    public var deadLetterUpdates: SnapshotSequence<[DeadLetter]> {
        list(DatabaseClient.observeDeadWrites) { DeadLetter($0, of: $1) }
    }

    /// Makes a refused write again, after all pending ones.
    ///
    /// The output of a transaction is written whatever the data is now.
    ///
    /// - Returns: the new write; nil if there is no such dead letter.
    /// - Throws: `failedPrecondition` for a closed database; the reason why the new write could not
    ///   be made, in which case the dead letter is kept.
    @discardableResult
    public nonisolated(nonsending) func retryDeadLetter(
        _ id: Int64
    ) async throws(DatabaseError) -> DatabaseWrite? {
        let request = try await ask { $0.deadWrites(completion: $1) }
            .first { $0.id.rawValue == id }?.request
        guard let request else { return nil }
        let write = DatabaseWrite(self)
        write.start(.success(request), insteadOf: WriteID(id))
        try await write.committedLocally()
        return write
    }

    /// Discards a refused write.
    ///
    /// - Returns: false if there is no such dead letter.
    /// - Throws: `failedPrecondition` for a closed database; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func discardDeadLetter(
        _ id: Int64
    ) async throws(DatabaseError) -> Bool {
        try await ask { $0.discardDeadWrite(WriteID(id), completion: $1) }
    }
}
