package import LarderModel
import LarderStorage

extension LocalStore {
    /// Takes batches out of the queue that the backend has refused, anywhere in the queue, and
    /// keeps each as a dead letter; one commit for all.
    ///
    /// Batches that are not in the queue are passed over.
    ///
    /// - Parameters:
    ///   - batchIDs: the batches.
    ///   - error: why they were refused.
    ///   - time: when, by the local clock.
    /// - Returns: every document that the batches name, once.
    package func reject(_ batchIDs: [Int64], because error: LarderError, at time: Timestamp)
        throws(LarderError) -> [LocalViewChange]
    {
        try drop(batchIDs, as: .rejected(error)) { (batch, transaction) throws(LarderError) in
            try transaction.putNamedValue(
                .deadLetter, DeadLetter.name(of: batch.id, of: user),
                DeadLetter.payload(batch, because: error), time: SnapshotVersion(time))
        }
    }

    /// Takes batches out of the queue that the application no longer wants, anywhere in the
    /// queue; one commit for all.
    ///
    /// Batches that are not in the queue are passed over. Nothing is kept of the others.
    ///
    /// - Returns: every document that the batches name, once.
    package func cancel(_ batchIDs: [Int64]) throws(LarderError) -> [LocalViewChange] {
        try drop(batchIDs, as: .cancelled) { (_, _) throws(LarderError) in }
    }

    private func drop(
        _ batchIDs: [Int64], as state: StoreNews.Batch.State,
        keep: (MutationBatch, inout WriteTransaction) throws(LarderError) -> Void
    ) throws(LarderError) -> [LocalViewChange] {
        try begin(.rejectBatch)
        let refresh = OverlayRefresh(user: user, builder: try RecordBuilder())
        return try commit(forAll: true) { (transaction, news) throws(LarderError) in
            var touched = ViewChanges(of: user)
            for id in batchIDs {
                guard let batch = try transaction.mutationBatch(id, of: user) else { continue }
                for document in batch.documents {
                    try touched.note(document.path, in: transaction)
                }
                try keep(batch, &transaction)
                try transaction.removeMutationBatch(id, of: user)
                news?.batches.append(StoreNews.Batch(id, state))
            }
            try refresh.replay(touched.paths, in: &transaction)
            news?.note(touched.paths)
            return try touched.changes(in: transaction, takesBack: true)
        }
    }
}
