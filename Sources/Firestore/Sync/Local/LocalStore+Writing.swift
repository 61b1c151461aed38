import LarderDocumentStore
package import LarderModel
import LarderQuery

extension LocalStore {
    /// Appends writes to the queue and updates the local view, all in one commit.
    ///
    /// Later writes see earlier ones. An impossible write fails alone and has no effect: it makes
    /// a document beyond the limits of size or depth (`invalidArgument`), or an expectation no
    /// longer holds (`aborted`). A mutation whose precondition does not hold in the local view is
    /// queued nevertheless and changes nothing here.
    ///
    /// A write of documents that are local only by the cache rules is made at once, and is not
    /// queued; one of which only some documents are fails with `invalidArgument`.
    ///
    /// - Returns: for each write the batch's id, 0 if it is not queued, and the changed documents.
    /// - Throws: the store's error if nothing was committed.
    package func write(_ writes: [QueuedWrite])
        throws(LarderError) -> [Result<(id: Int64, changes: [LocalChange]), LarderError>]
    {
        try write(writes, obeying: CacheRules())
    }

    func write(_ writes: [QueuedWrite], obeying rules: CacheRules)
        throws(LarderError) -> [Result<(id: Int64, changes: [LocalChange]), LarderError>]
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        return try commit { (transaction, shared) throws(LarderError) in
            var outcomes: [Result<(id: Int64, changes: [LocalChange]), LarderError>] = []
            outcomes.reserveCapacity(writes.count)
            for write in writes {
                outcomes.append(
                    try self.write(
                        write, obeying: rules, in: &transaction, &shared, using: builder))
            }
            let ids = outcomes.lazy.compactMap { try? $0.get().id }
            try beginRun(with: ids.first { $0 > 0 }, in: &transaction)
            return outcomes
        }
    }

    /// Begins this process's run of batches, unless it has begun.
    ///
    /// - Parameter id: the first batch that is appended in the transaction; nil for none.
    func beginRun(
        with id: Int64?, in transaction: inout WriteTransaction
    ) throws(LarderError) {
        guard let id else { return }
        try transaction.beginWriteRun(writeRun, with: id, in: Self.runsName) {
            (range, _, transaction) throws(LarderError) in
            for user in try transaction.usersWithMutations() {
                let next = try transaction.nextMutationBatch(after: range.lowerBound - 1, of: user)
                if let next, range.contains(next.id) { return true }
            }
            return false
        }
    }

    static let runsName = "firestore.runs"

    /// Applies a write of local-only documents, or appends one of others to the queue.
    func write(
        _ write: QueuedWrite, obeying rules: CacheRules, in transaction: inout WriteTransaction,
        _ shared: inout SharedChange?, using builder: RecordBuilder
    ) throws(LarderError) -> Result<(id: Int64, changes: [LocalChange]), LarderError> {
        let outcome: Result<(id: Int64, changes: [LocalChange]), LarderError>
        switch Result(catching: { () throws(LarderError) in
            try rules.isLocalOnly(write.mutations)
        }) {
        case .failure(let error): return .failure(error)
        case .success(true): outcome = try make(write, in: &transaction, using: builder)
        case .success(false): outcome = try append(write, to: &transaction, using: builder)
        }
        if case .success(let batch) = outcome {
            shared?.addBatch(batch.id, changing: batch.changes)
        }
        return outcome
    }

    /// Appends a write to the queue as a batch, and stores the overlays of its documents.
    ///
    /// - Returns: the batch's id, 0 for a write without mutations, which is not queued; every
    ///   document that it names, once, even if its view stayed the same. A failure, with nothing
    ///   written, if the write is impossible.
    /// - Throws: an error after which the transaction must not be committed.
    func append(
        _ write: QueuedWrite, to transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> Result<(id: Int64, changes: [LocalChange]), LarderError> {
        let payload: [UInt8]
        let effects: [DocumentEffect]
        do throws(LarderError) {
            (payload, effects) = try plan(write, in: transaction, using: builder)
        } catch {
            return .failure(error)
        }
        guard !write.mutations.isEmpty else { return .success((id: 0, changes: [])) }
        let id: Int64
        do throws(LarderError) {
            id = try transaction.appendMutations(
                payload,
                touching: effects.map {
                    TouchedDocument(path: $0.path, baseVersion: $0.document.baseVersion)
                }, localWriteTime: write.localWriteTime, of: user)
        } catch {
            // The core refuses arguments before it writes anything.
            guard error.kind == .invalidArgument else { throw error }
            return .failure(error)
        }
        var changes: [LocalChange] = []
        changes.reserveCapacity(effects.count)
        for effect in effects {
            let before = effect.document.view
            var after = before
            var written = effect.after
            written.history?.nameNextBatch(id)
            if let overlay = written.overlay(overFound: effect.document.isCached) {
                try transaction.putOverlay(
                    written.record, payload: overlay.payload, at: effect.path, of: user,
                    largestBatchID: id)
                after = written.document(
                    at: effect.path, readTime: .none, largestBatchID: id)
            }
            changes.append(LocalChange(path: effect.path, before: before, after: after))
        }
        return .success((id: id, changes: changes))
    }
}

extension SharedChange {
    mutating func addBatch(_ id: Int64, changing changes: [LocalChange]) {
        // Not in the queue: local only, or without mutations.
        if id != 0 { batches.append(Batch(id, .pending)) }
        note(changes.map(\.path))
    }
}

// MARK: - Planning

/// The effect of a write on one document.
private struct DocumentEffect {
    let path: DocumentPath
    /// The document before the write.
    let document: LoadedDocument
    /// The local view with the write.
    let after: WorkingDocument
}

extension LocalStore {
    /// Computes a write's payload and its effects, in the order in which it first names the
    /// documents; writes nothing.
    ///
    /// - Throws: the reason why the write is impossible.
    private func plan<T: ReadableTransaction & ~Copyable>(
        _ write: QueuedWrite, in transaction: borrowing T, using builder: RecordBuilder
    ) throws(LarderError) -> (payload: [UInt8], effects: [DocumentEffect]) {
        try check(write.expectations, in: transaction)
        var (loaded, order) = ([DocumentPath: LoadedDocument](), [DocumentPath]())
        var working = WorkingSet(using: builder)
        for mutation in write.mutations where loaded[mutation.path] == nil {
            let document = try transaction.loadedDocument(at: mutation.path, of: user)
            loaded[mutation.path] = document
            working.documents[mutation.path] = document.working
            order.append(mutation.path)
        }
        var bases: [Mutation] = []
        for mutation in write.mutations {
            try check(mutation)
            guard let document = working.documents[mutation.path] else { continue }
            if let base = try mutation.base(over: document, using: builder) { bases.append(base) }
        }
        let contents = MutationPayload(baseMutations: bases, mutations: write.mutations)
        let payload = try contents.bytes(using: builder)
        guard payload.count <= DeadLetter.maxBatchBytes else {
            throw LarderError(
                .invalidArgument, "the writes together are larger than a batch may be",
                condition: .tooLarge)
        }
        working.noteBases(of: contents)
        try working.apply(write.mutations, localWriteTime: write.localWriteTime)
        var effects: [DocumentEffect] = []
        for path in order {
            guard let document = loaded[path], let after = working.documents[path] else { continue }
            if let record = after.record { try check(record) }
            effects.append(DocumentEffect(path: path, document: document, after: after))
        }
        return (payload, effects)
    }

    /// Throws `aborted` unless documents are as they were read.
    func check<T: ReadableTransaction & ~Copyable>(
        _ expectations: [QueuedWrite.Expectation], in transaction: borrowing T
    ) throws(LarderError) {
        for expectation in expectations {
            guard
                try transaction.document(at: expectation.path, asSeenBy: user)
                    == expectation.document
            else {
                throw LarderError(
                    .aborted, "the document '\(expectation.path)' has changed meanwhile")
            }
        }
    }

    /// Throws for a mutation that the backend would never accept, even if its precondition keeps
    /// it out of the local view.
    func check(_ mutation: Mutation) throws(LarderError) {
        if case .verify = mutation.operation {
            throw .invalidArgument("verify mutations cannot be queued ('\(mutation.path)')")
        }
        if let record = mutation.record { try check(record) }
        for transform in mutation.transforms {
            switch transform.operation {
            case .increment(.integer), .increment(.double), .minimum(.integer),
                .minimum(.double), .maximum(.integer), .maximum(.double), .serverTimestamp,
                .arrayUnion, .arrayRemove:
                break
            case .increment, .minimum, .maximum:
                throw .invalidArgument("numeric transform with a non-numeric operand")
            }
        }
    }

    func check(_ record: Record) throws(LarderError) {
        try record.checkLimits(maxDepth: store.maxDepth, maxBytes: store.maxDocumentBytes)
    }
}

/// A write of the application that waits to become a batch of the queue.
package struct QueuedWrite: Sendable {
    /// The mutations, in order.
    package let mutations: [Mutation]
    /// The time of the write by the local clock.
    package let localWriteTime: Timestamp
    /// Documents of the local view that must be unchanged.
    package let expectations: [Expectation]
    /// Called with the batch's id once it is on disk, or with the reason why it is not queued.
    let committed: @Sendable (Result<Int64, LarderError>) -> Void
    /// Called when the backend has answered, or the write was cancelled.
    let acknowledged: @Sendable (Result<Void, LarderError>) -> Void

    /// A document that a transaction has read.
    package struct Expectation: Sendable {
        /// The document's path.
        package let path: DocumentPath
        /// The document as it was read; nil if it was unknown.
        package let document: Document?

        /// Creates an expectation.
        package init(path: DocumentPath, document: Document?) {
            self.path = path
            self.document = document
        }
    }

    /// Creates a write.
    package init(
        mutations: [Mutation], localWriteTime: Timestamp, expectations: [Expectation] = [],
        committed: @escaping @Sendable (Result<Int64, LarderError>) -> Void = { _ in },
        acknowledged: @escaping @Sendable (Result<Void, LarderError>) -> Void = { _ in }
    ) {
        self.mutations = mutations
        self.localWriteTime = localWriteTime
        self.expectations = expectations
        self.committed = committed
        self.acknowledged = acknowledged
    }

    /// True if the write may change documents of a source; nil stands for all documents.
    func touches(_ source: Query.Source?) -> Bool {
        switch source {
        case nil: true
        case .document(let path)?: mutations.contains { $0.path == path }
        case .collection(let path)?: mutations.contains { path.contains($0.path) }
        case .group(let id)?: mutations.contains { $0.path.collectionGroup == id }
        }
    }
}
