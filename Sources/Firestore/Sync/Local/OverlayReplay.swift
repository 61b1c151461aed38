import HeapModule
import LarderCore
import LarderDocumentStore
import LarderModel

/// Applies a user's pending writes to changed documents again, and updates their overlays.
///
/// Of a document's pending writes only the first are applied: to the cached document as it was and
/// as it is, until both results are the same. From there on the present view is right. This is so
/// at once where the backend has committed what the local view had predicted, so that
/// acknowledgements cost the same beside any number of later writes.
struct OverlayReplay {
    /// The change of a cached document since its overlay was computed.
    enum Cause {
        /// Nil if it is unchanged.
        case after(CachedDocuments.Change?)
        /// It may have changed: all batches are applied again.
        case unknown
    }

    private struct Progress {
        /// Whether the cached document exists with known fields.
        let isCached: Bool
        let overlay: Overlay?
        let mutation: OverlayMutation?
        /// The removed batches of the document that have not been applied yet.
        var removed: ArraySlice<Int64>
        /// The next batch of the queue; nil at its end.
        var queued: Int64?
        /// The last batch of the queue that has been applied; 0 for none.
        var last: Int64 = 0
        /// The last batch that has been applied, or is removed; 0 for none.
        var position: Int64 = 0
        /// The number of batches that may still be applied to the document as it was.
        var stepsLeft: Int
        /// The number of batches that were applied after the removed ones.
        var stepCount = 0

        /// How far a change is followed before all batches are applied to the new document alone.
        static let maxSteps = 1024

        /// Whether to compare now: after each of the first batches, and then less and less often,
        /// since comparing costs as much as applying.
        var isDue: Bool {
            removed.isEmpty && (stepCount <= 8 || stepCount & (stepCount - 1) == 0)
                && position >= mutation?.history?.lastRebaseID ?? 0
        }
    }

    private let user: UserID
    private let builder: RecordBuilder
    /// The documents as they were, while both are followed, and as they are.
    private var old: WorkingSet
    private var new: WorkingSet
    private var progress: [DocumentPath: Progress] = [:]
    private let removed: [Int64: MutationRow]
    /// The removed batches of each document, in the order of the queue.
    private var removedIDs: [DocumentPath: [Int64]] = [:]
    /// The documents that each batch is to be applied to.
    private var waiting: [Int64: [DocumentPath]] = [:]
    private var order = Heap<Int64>()

    /// - Parameter removed: batches that have left the queue since the overlays were computed, in
    ///   its order.
    init(user: UserID, builder: RecordBuilder, removed: [MutationRow]) {
        self.user = user
        self.builder = builder
        self.removed = Dictionary(
            removed.lazy.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        (old, new) = (WorkingSet(using: builder), WorkingSet(using: builder))
        for batch in removed {
            for path in Set(batch.documents.map(\.path)) {
                removedIDs[path, default: []].append(batch.id)
            }
        }
    }

    /// Adds a document, once.
    mutating func add(_ path: DocumentPath, _ cause: Cause, in transaction: inout WriteTransaction)
        throws(LarderError)
    {
        guard let first = try transaction.nextMutationBatchID(touching: path, of: user) else {
            try transaction.removeOverlay(at: path, of: user)
            return
        }
        let (before, after): (WorkingDocument?, WorkingDocument)
        switch cause {
        case .unknown: (before, after) = (nil, WorkingDocument(try transaction.document(at: path)))
        case .after(nil):
            let cached = WorkingDocument(try transaction.document(at: path))
            (before, after) = (cached, cached)
        case .after(let change?):
            (before, after) = (WorkingDocument(change.before), WorkingDocument(change.after))
        }
        let overlay = try transaction.overlay(at: path, of: user)
        var mutation: OverlayMutation?
        if let overlay { mutation = try OverlayMutation(payload: overlay.payload) }
        let removed = removedIDs[path] ?? []
        if let before, overlay == nil, removed.isEmpty, before.version == after.version,
            before.isSame(as: after)
        {
            return  // no write has an effect, as before
        }
        progress[path] = Progress(
            isCached: after.isFound, overlay: overlay, mutation: mutation, removed: removed[...],
            queued: first, stepsLeft: Progress.maxSteps + removed.count)
        new.documents[path] = after
        if let before, canFollow(mutation, before) { old.documents[path] = before }
        if try !finishIfSame(path, in: &transaction) { schedule(path) }
    }

    /// Updates the overlays of the added documents.
    mutating func run(in transaction: inout WriteTransaction) throws(LarderError) {
        while let id = order.popMin() {
            let paths = waiting.removeValue(forKey: id) ?? []
            StepCount.note()
            let isRemoved = removed[id] != nil
            let queued = isRemoved ? nil : try transaction.mutationBatch(id, of: user)
            if let batch = removed[id] ?? queued {
                let contents = try MutationPayload(batch.payload)
                if !old.documents.isEmpty { try old.apply(batch, contents) }
                if !isRemoved { try new.apply(batch, contents) }
            }
            for path in paths { try advance(path, id, in: &transaction) }
        }
    }

    /// Goes on after a batch.
    private mutating func advance(
        _ path: DocumentPath, _ id: Int64, in transaction: inout WriteTransaction
    ) throws(LarderError) {
        guard var now = progress[path] else { return }
        now.position = id
        if now.removed.first == id {
            now.removed.removeFirst()
        } else {
            now.last = id
            now.queued = try transaction.nextMutationBatchID(touching: path, after: id, of: user)
            if now.removed.isEmpty { now.stepCount += 1 }
        }
        now.stepsLeft -= 1
        progress[path] = now
        if now.stepsLeft < 0 { old.documents[path] = nil }
        if now.queued == nil {
            try finish(path, now, in: &transaction)
        } else if try !finishIfSame(path, in: &transaction) {
            schedule(path)
        }
    }

    private mutating func schedule(_ path: DocumentPath) {
        guard let now = progress[path], let queued = now.queued else { return }
        let next = min(queued, now.removed.first ?? queued)
        if waiting[next] == nil { order.insert(next) }
        waiting[next, default: []].append(path)
    }

    private mutating func forget(_ path: DocumentPath) {
        progress[path] = nil
        old.documents[path] = nil
        new.documents[path] = nil
    }

    /// True if the view may be kept once the old and the new document are the same.
    private func canFollow(_ mutation: OverlayMutation?, _ before: WorkingDocument) -> Bool {
        guard let mutation else { return !before.isFound }
        guard let history = mutation.history else { return false }
        return !history.hasVersionPreconditions
    }

    /// Stores the view of a document to which all batches have been applied.
    private mutating func finish(
        _ path: DocumentPath, _ now: Progress, in transaction: inout WriteTransaction
    ) throws(LarderError) {
        if let document = new.documents[path],
            let overlay = document.overlay(overFound: now.isCached)
        {
            try transaction.putView(
                document.record, overlay, at: path, of: user, batch: now.last)
        } else {
            try transaction.removeOverlay(at: path, of: user)
        }
        forget(path)
    }

    /// Keeps the present view where the batches that follow give the same result as before.
    private mutating func finishIfSame(
        _ path: DocumentPath, in transaction: inout WriteTransaction
    ) throws(LarderError) -> Bool {
        guard let now = progress[path], now.isDue, let before = old.documents[path],
            let after = new.documents[path]
        else { return false }
        guard let overlay = now.overlay, let mutation = now.mutation,
            let known = mutation.history
        else {
            // So far no write had an effect, and neither have the others while nothing exists.
            guard !before.isFound, !after.isFound, !before.hasLocalMutations,
                !after.hasLocalMutations
            else {
                old.documents[path] = nil
                return false
            }
            forget(path)
            return true
        }
        guard let values = try after.previousValues(unlike: before, using: builder) else {
            return false
        }
        let history = known.updated(by: after.history ?? OverlayHistory(), through: now.position)
        forget(path)
        guard history.lastEffectID > 0 else {
            try transaction.removeOverlay(at: path, of: user)
            return true
        }
        var operation = mutation.operation
        if case .patch = operation, !now.isCached { operation = .set }
        // The mask may contain fields that only removed batches have written.
        let updated = OverlayMutation(operation, dependsOnContents: true, history: history)
        guard updated != mutation || !values.isEmpty else { return true }
        var view = overlay.document.record
        if let record = view {
            view = try known.view(record, with: values, through: now.position, using: builder)
        }
        try transaction.putView(
            view, updated, at: path, of: user, batch: overlay.largestBatchID)
        return true
    }
}
