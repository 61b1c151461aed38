import LarderDocumentStore
import LarderModel

/// Updates a user's overlays to the cached documents and the queue.
struct OverlayRefresh {
    let user: UserID
    let builder: RecordBuilder

    /// Recomputes overlays after batches have left the queue: the remaining batches are applied to
    /// the cached documents, in order.
    ///
    /// Linear in the mutations of the batches that touch the documents. Each batch is decoded once.
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

    /// Updates overlays after cached documents have changed.
    ///
    /// If the pending writes do not depend on the change, the overlay's mutation is applied again
    /// without the queue.
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

    /// Stores a view, or none if the cached document has grown so much that the view is beyond the
    /// store's limits: the backend will reject the pending writes, and its snapshots must be
    /// applied until then.
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

/// Documents to which batches are applied, each in one pass over its mutations.
struct WorkingSet {
    /// Mutations of other documents are ignored.
    var documents: [DocumentPath: WorkingDocument] = [:]
    private let builder: RecordBuilder

    init(using builder: RecordBuilder) {
        self.builder = builder
    }

    /// Applies pending mutations.
    ///
    /// Linear in their number, even for many mutations of one document.
    mutating func apply(_ mutations: [Mutation], localWriteTime: Timestamp) throws(LarderError) {
        for mutation in mutations {
            try documents[mutation.path]?.apply(
                mutation, localWriteTime: localWriteTime, using: builder)
        }
    }

    /// Applies a batch of the queue, after those before it.
    ///
    /// The base values of its increments are used for documents whose cached version has changed
    /// since the batch was written, and may include the increment. Otherwise increments apply to
    /// the result of the batches before, so that they stay correct when one of those is cancelled.
    mutating func apply(_ batch: MutationRow) throws(LarderError) {
        let contents = try MutationPayload(batch.payload)
        if !contents.baseMutations.isEmpty {
            var moved = Set<DocumentPath>()
            for touched in batch.documents
            where documents[touched.path]?.cachedVersion != touched.baseVersion {
                moved.insert(touched.path)
            }
            try apply(
                contents.baseMutations.filter { moved.contains($0.path) },
                localWriteTime: batch.localWriteTime)
        }
        try apply(contents.mutations, localWriteTime: batch.localWriteTime)
    }
}

/// A document and its local view, to which writes are applied.
struct LoadedDocument {
    /// The document as the user sees it; nil if unknown.
    let view: Document?
    /// The view as a base for writes.
    let working: WorkingDocument
    /// The version of the cached document; none if it is not cached.
    let baseVersion: SnapshotVersion
    /// Whether the cached document exists with known fields.
    let isCached: Bool
}

extension ReadableTransaction where Self: ~Copyable {
    /// A document as a user sees it, with the state of its overlay.
    func loadedDocument(at path: DocumentPath, of user: UserID)
        throws(LarderError) -> LoadedDocument
    {
        guard let overlay = try overlay(at: path, of: user) else {
            let cached = try document(at: path)
            let hasIdleWrites = try !mutationBatchIDs(touching: path, of: user).isEmpty
            return LoadedDocument(
                view: cached, working: WorkingDocument(cached, dependsOnContents: hasIdleWrites),
                baseVersion: cached?.version ?? .none, isCached: cached?.record != nil)
        }
        var (version, isCached) = (SnapshotVersion.none, false)
        _ = try withDocument(at: path) { entry throws(LarderError) in
            (version, isCached) = (entry.version, entry.state == .found)
        }
        let change = try OverlayMutation(payload: overlay.payload)
        return LoadedDocument(
            view: overlay.document,
            working: WorkingDocument(view: overlay.document, madeBy: change),
            baseVersion: version, isCached: isCached)
    }
}
