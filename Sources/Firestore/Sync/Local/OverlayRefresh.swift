import LarderModel
import LarderStorage

/// Brings a user's overlays into agreement with what lies below them: cached documents and queue.
struct OverlayRefresh {
    /// The user.
    let user: UserID
    /// What records are made with.
    let builder: RecordBuilder

    /// Makes overlays anew after batches have left the queue: the batches that are still in it
    /// are applied to the cached documents, in order.
    ///
    /// Linear in the mutations of the batches that touch the documents. Each batch is decoded
    /// once and let go, however many documents it touches.
    func replay(_ paths: some Sequence<DocumentPath>, in transaction: inout WriteTransaction)
        throws(LarderError)
    {
        var (working, lastBatch) = (WorkingSet(using: builder), [DocumentPath: Int64]())
        var (batches, isCached) = (Set<Int64>(), [DocumentPath: Bool]())
        let isEmpty = try transaction.mutationBatchCount(of: user) == 0
        for path in paths {
            let ids =
                isEmpty ? [] : try transaction.mutationBatchIDs(touching: path, of: user)
            guard let last = ids.last else {
                try transaction.removeOverlay(at: path, of: user)
                continue
            }
            batches.formUnion(ids)
            lastBatch[path] = last
            let cached = WorkingDocument(try transaction.document(at: path))
            isCached[path] = cached.isFound
            working.documents[path] = cached
        }
        for id in batches.sorted() {
            guard let batch = try transaction.mutationBatch(id, of: user) else { continue }
            try working.apply(batch)
        }
        for (path, document) in working.documents {
            guard let overlay = document.overlay(overFound: isCached[path] ?? false) else {
                try transaction.removeOverlay(at: path, of: user)
                continue
            }
            try put(
                document.record, overlay, at: path, batch: lastBatch[path] ?? 0,
                in: &transaction)
        }
    }

    /// Makes overlays anew after cached documents have changed.
    ///
    /// Where the pending writes do not depend on what changed, the overlay's own change is
    /// applied again, without the queue.
    func follow(_ changes: [CachedDocuments.Change], in transaction: inout WriteTransaction)
        throws(LarderError)
    {
        guard try transaction.mutationBatchCount(of: user) > 0 else { return }
        var replayed: [DocumentPath] = []
        for change in changes {
            guard let overlay = try transaction.overlay(at: change.path, of: user) else {
                replayed.append(change.path)
                continue
            }
            let mutation = try OverlayMutation(payload: overlay.payload)
            if mutation.dependsOnContents || change.wasFound != change.document.isFound {
                replayed.append(change.path)
            } else if case .patch = mutation.operation {
                let view = try mutation.applied(
                    to: change.document, view: overlay.document.record, using: builder)
                try put(
                    view, mutation, at: change.path, batch: overlay.largestBatchID,
                    in: &transaction)
            }
        }
        try replay(replayed, in: &transaction)
    }

    /// Keeps a view, or none where the document below has grown so much that the view is beyond
    /// the store's limits: the backend will refuse the pending writes, and must not be kept from
    /// being heard until then.
    private func put(
        _ view: Record?, _ overlay: OverlayMutation, at path: DocumentPath, batch: Int64,
        in transaction: inout WriteTransaction
    ) throws(LarderError) {
        do throws(LarderError) {
            try transaction.putOverlay(
                view, payload: overlay.payload, at: path, of: user, largestBatchID: batch)
        } catch {
            guard error.isBeyondLimits else { throw error }
            try transaction.removeOverlay(at: path, of: user)
        }
    }
}
