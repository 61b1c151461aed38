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

    /// Takes back a write unless its answer is awaited: its documents become as if it had never
    /// been made.
    ///
    /// Who waits for it to be acknowledged hears `cancelled`. An earlier attempt to send it, whose
    /// answer was lost, may have been committed all the same. Of several processes on one store
    /// the one that has the network takes it back.
    ///
    /// - Returns: whether it was taken back; false where it is not pending any more, or was sent
    ///   and is not answered yet.
    /// - Throws: `failedPrecondition` for a terminated database; what the store reports.
    @discardableResult
    public nonisolated(nonsending) func cancelPendingWrite(
        _ id: Int64
    ) async throws(LarderError) -> Bool {
        try await answer { done in
            withClient(done) { $0.cancelWrite(id, completion: $1) }
        }
    }
}
