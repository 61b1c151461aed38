public import Foundation
public import LarderModel
import LarderSync

/// A write or batch that the backend has not acknowledged.
public struct PendingWrite: Sendable, Identifiable {
    /// The ID for ``Firestore/cancelPendingWrite(_:)``; later writes have larger IDs.
    public let id: Int64

    /// The changes of the write, in order.
    public let changes: [WriteChange]

    /// The affected documents without duplicates, in the order of the changes.
    public var documents: [DocumentReference] { changes.documents }

    /// The local time of the write.
    public let writeTime: Timestamp

    /// The number of failed attempts to commit it, including failed connections and rejected
    /// streams; counted only for the oldest write, which the others wait for.
    public let attemptCount: Int

    /// The time of the last attempt; nil if there was none.
    public let lastAttempt: Timestamp?

    /// The last error of the backend or the network; nil if there was none.
    public let lastError: String?

    /// The time since the write was applied, in seconds.
    public var age: TimeInterval {
        -writeTime.dateValue().timeIntervalSinceNow
    }

    init(_ batch: MutationBatch, of firestore: Firestore) {
        id = batch.id
        changes = batch.mutations.map { WriteChange($0, of: firestore) }
        writeTime = batch.localWriteTime
        attemptCount = Int(batch.attemptCount)
        lastAttempt = batch.lastAttempt
        lastError = batch.lastError
    }
}

extension PendingWrite: CustomStringConvertible {
    /// The ID, the time, the first changes, and the last error, on one line.
    public var description: String {
        var text = "pending write \(id) of \(writeTime): \(changes.summary)"
        if attemptCount > 0 {
            text +=
                "; \(attemptCount == 1 ? "1 failed attempt" : "\(attemptCount) failed attempts")"
        }
        if let lastError { text += "; last error: \(lastError)" }
        return text
    }
}

// MARK: - PendingWrites

extension Firestore {
    /// The writes that the backend has not acknowledged, oldest first, including those of earlier
    /// runs of the program.
    ///
    /// Runs on the calling thread, once this instance's earlier writes are committed locally.
    ///
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func pendingWrites() async throws(LarderError) -> [PendingWrite]
    {
        try await read { (client) throws(LarderError) in
            try client.pendingWrites().map { PendingWrite($0, of: self) }
        }
    }

    /// The writes that the backend has not acknowledged, now and after each change.
    ///
    /// Only the newest list is buffered: a slow consumer skips lists, but never the last one.
    public var pendingWriteUpdates: SnapshotSequence<[PendingWrite]> {
        SnapshotSequence(.bufferingNewest(1)) { [self] deliver in
            let registration = Registration()
            do throws(LarderError) {
                registration.attach(
                    try connection.client().observePendingWrites { result in
                        guard registration.isActive else { return }
                        deliver(result.map { $0.map { PendingWrite($0, of: self) } })
                    })
            } catch {
                deliver(.failure(error))
            }
            return registration
        }
    }

    /// Cancels a pending write and reverts its effect on documents, unless it has been sent and not
    /// yet answered.
    ///
    /// Anything awaiting its acknowledgement receives `cancelled`. If the response to an earlier
    /// attempt was lost, the backend may have committed the write nevertheless. With several
    /// processes on one store, the one connected to the backend performs the cancellation.
    ///
    /// - Returns: true if it was cancelled; false if it is no longer pending, or was sent and has
    ///   not been answered.
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    @discardableResult
    public nonisolated(nonsending) func cancelPendingWrite(
        _ id: Int64
    ) async throws(LarderError) -> Bool {
        try await answer { done in
            withClient(done) { $0.cancelWrite(id, completion: $1) }
        }
    }
}

/// A change of one document as requested by a write.
public struct WriteChange: Sendable {
    /// The kind of a change.
    public enum Kind: Hashable, Sendable {
        /// Replaces the document with the fields.
        case set
        /// Sets the fields, creating the document if it does not exist.
        case merge
        /// Sets the fields; rejected if the document does not exist.
        case update
        /// Deletes the document.
        case delete
    }

    /// The document.
    public let document: DocumentReference

    /// The kind of the change.
    public let kind: Kind

    private let mutation: Mutation

    init(_ mutation: Mutation, of firestore: Firestore) {
        self.mutation = mutation
        document = DocumentReference(firestore, mutation.path)
        kind =
            switch mutation.operation {
            case .set: .set
            case .patch where mutation.precondition != .none: .update
            case .patch, .verify: .merge
            case .delete: .delete
            }
    }

    /// The fields by path as in `updateData`: values, and ``FieldValue``s for removed fields and
    /// values computed by the backend.
    ///
    /// Decoded on each call.
    public var fields: [FieldPath: Any] {
        let writer = UserDataWriter(serverTimestamps: .none, references: document.firestore)
        var fields: [FieldPath: Any] = [:]
        switch mutation.operation {
        case .set(let record):
            for (name, value) in record.fields { fields[FieldPath([name])] = writer.value(value) }
        case .patch(let record, let mask):
            for path in mask.paths {
                fields[FieldPath(path.segments)] =
                    record[path].map { writer.value($0) } ?? FieldValue.delete()
            }
        case .delete, .verify: break
        }
        for transform in mutation.transforms {
            fields[FieldPath(transform.path.segments)] = FieldValue(for: transform.operation)
        }
        return fields
    }
}

extension WriteChange: CustomStringConvertible {
    /// The kind and the path of the document: `update cities/SF`.
    public var description: String { "\(kind) \(document.path)" }
}

extension [WriteChange] {
    private static let summaryCount = 3

    /// The first changes, and the number of the others.
    var summary: String {
        let listed = prefix(Self.summaryCount).map(\.description).joined(separator: ", ")
        return count > Self.summaryCount
            ? "\(listed) and \(count - Self.summaryCount) more" : listed
    }

    /// The changed documents without duplicates, in order.
    var documents: [DocumentReference] {
        var seen: Set<DocumentReference> = []
        return compactMap { seen.insert($0.document).inserted ? $0.document : nil }
    }
}
