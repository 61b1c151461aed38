public import LarderModel
import LarderSync

extension Firestore {
    /// The writes that the backend has not acknowledged, oldest first, those of earlier runs of the
    /// program included.
    ///
    /// Reads on the calling thread, once this object's earlier writes are committed.
    ///
    /// - Throws: `failedPrecondition` for a terminated database, `dataLoss` for a damaged store.
    public nonisolated(nonsending) func pendingWrites() async throws(LarderError) -> [PendingWrite]
    {
        try await read { (client) throws(LarderError) in
            try client.pendingWrites().map { PendingWrite($0, of: self) }
        }
    }

    /// The writes that the backend has not acknowledged, now and after each change of them.
    ///
    /// Only the newest list waits for the loop: a slow one leaves out lists, never the last.
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

    /// Takes back a write that the backend has not acknowledged: its documents become as if it
    /// had never been made.
    ///
    /// Who waits for it to be acknowledged hears `cancelled`.
    ///
    /// - Returns: whether there was such a write.
    /// - Throws: `failedPrecondition` for a terminated database.
    @discardableResult
    public nonisolated(nonsending) func cancelPendingWrite(
        _ id: Int64
    ) async throws(LarderError) -> Bool {
        try await answer { done in
            withClient(done) { $0.cancelWrite(id, completion: $1) }
        }
    }
}
