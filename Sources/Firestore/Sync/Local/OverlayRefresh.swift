import LarderDocumentStore
import LarderModel

/// Updates a user's overlays to the cached documents and the queue.
struct OverlayRefresh {
    let user: UserID
    let builder: RecordBuilder

    /// Recomputes overlays after batches have left the queue.
    ///
    /// - Parameters:
    ///   - paths: the documents of the batches, each once.
    ///   - removed: the batches, in the order of the queue.
    ///   - changes: the changes of cached documents since the overlays were computed.
    func replay(
        _ paths: [DocumentPath], without removed: [MutationRow],
        after changes: [CachedDocuments.Change], in transaction: inout WriteTransaction
    ) throws(LarderError) {
        var replay = OverlayReplay(user: user, builder: builder, removed: removed)
        let changed = Dictionary(
            changes.lazy.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        for path in paths {
            try replay.add(path, .after(changed[path]), in: &transaction)
        }
        try replay.run(in: &transaction)
    }

    /// Recomputes overlays from the cached documents and the queue alone.
    ///
    /// Linear in the mutations of the batches that touch the documents. Each batch is decoded once.
    func recompute(_ paths: some Sequence<DocumentPath>, in transaction: inout WriteTransaction)
        throws(LarderError)
    {
        var replay = OverlayReplay(user: user, builder: builder, removed: [])
        for path in paths { try replay.add(path, .unknown, in: &transaction) }
        try replay.run(in: &transaction)
    }

    /// Updates overlays after cached documents have changed.
    ///
    /// If the pending writes do not depend on the change, the overlay's mutation is applied again
    /// without the queue.
    func follow(_ changes: [CachedDocuments.Change], in transaction: inout WriteTransaction)
        throws(LarderError)
    {
        guard try transaction.mutationBatchCount(of: user) > 0 else { return }
        var replay = OverlayReplay(user: user, builder: builder, removed: [])
        for change in changes {
            guard let overlay = try transaction.overlay(at: change.path, of: user),
                case let mutation = try OverlayMutation(payload: overlay.payload),
                change.wasFound == change.document.isFound,
                try mutation.isIndependent(of: change, using: builder)
            else {
                try replay.add(change.path, .after(change), in: &transaction)
                continue
            }
            guard case .patch = mutation.operation else { continue }
            let view = try mutation.applied(
                to: change.document, view: overlay.document.record, using: builder)
            try transaction.putView(
                view, mutation, at: change.path, of: user, batch: overlay.largestBatchID)
        }
        try replay.run(in: &transaction)
    }
}

extension OverlayMutation {
    /// True if the view of the changed document is this mutation, applied to that document.
    ///
    /// The change must not create or delete the document.
    fileprivate func isIndependent(
        of change: CachedDocuments.Change, using builder: RecordBuilder
    ) throws(LarderError) -> Bool {
        if !dependsOnContents { return true }
        // Transforms read only fields that they write.
        guard let history, history.lastRebaseID == 0, !history.hasVersionPreconditions,
            case .patch(let mask) = operation, let before = change.before?.record,
            let after = change.document.record
        else { return false }
        return try builder.patch(after, with: before, mask: mask).hasSameBytes(as: after)
    }
}

extension WriteTransaction {
    /// Stores a view, or none if the cached document has grown so much that the view is beyond the
    /// store's limits: the backend will reject the pending writes, and its snapshots must be
    /// applied until then.
    mutating func putView(
        _ view: Record?, _ overlay: OverlayMutation, at path: DocumentPath, of user: UserID,
        batch: Int64
    ) throws(LarderError) {
        do throws(LarderError) {
            try putOverlay(
                view, payload: overlay.payload, at: path, of: user, largestBatchID: batch)
        } catch {
            guard error.isBeyondLimits else { throw error }
            try removeOverlay(at: path, of: user)
        }
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
            let hasIdleWrites = try nextMutationBatchID(touching: path, of: user) != nil
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
