import LarderModel
import LarderStorage

/// A batch whose every effect is known and found possible, before anything of it is written.
struct PlannedBatch {
    /// A document that the batch names.
    struct Entry {
        let path: DocumentPath
        let baseVersion: SnapshotVersion
        let before: Document?
        /// The local view with the batch.
        let after: WorkingDocument
        let isCached: Bool
    }

    let contents: BatchContents
    let payload: [UInt8]
    let localWriteTime: Timestamp
    /// The documents in the order in which the batch first names them.
    let entries: [Entry]
}

extension LocalStore {
    /// Works out what a write does, and whether it can be made; writes nothing.
    func plan<T: ReadableTransaction & ~Copyable>(
        _ write: PendingWrite, in transaction: borrowing T, using builder: RecordBuilder
    ) throws(LarderError) -> PlannedBatch {
        for expectation in write.expectations {
            guard
                try transaction.document(at: expectation.path, asSeenBy: user)
                    == expectation.document
            else {
                throw LarderError(
                    .aborted, "the document '\(expectation.path)' has changed meanwhile")
            }
        }
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
        let contents = BatchContents(baseMutations: bases, mutations: write.mutations)
        let payload = try contents.payload(using: builder)
        guard payload.count <= DeadLetter.maxBatchBytes else {
            throw LarderError(
                .invalidArgument, "the writes together are larger than a batch may be",
                condition: .tooLarge)
        }
        try working.apply(write.mutations, localWriteTime: write.localWriteTime)
        var entries: [PlannedBatch.Entry] = []
        for path in order {
            guard let before = loaded[path], let after = working.documents[path] else { continue }
            if let record = after.record { try check(record) }
            entries.append(
                PlannedBatch.Entry(
                    path: path, baseVersion: before.baseVersion, before: before.view,
                    after: after, isCached: before.isCached))
        }
        return PlannedBatch(
            contents: contents, payload: payload,
            localWriteTime: write.localWriteTime, entries: entries)
    }

    /// Throws for a mutation that the backend would never take.
    ///
    /// Its fields count even where its precondition keeps them out of the local view.
    private func check(_ mutation: Mutation) throws(LarderError) {
        if case .verify = mutation.operation {
            throw .invalidArgument("a check of '\(mutation.path)' is no write to be queued")
        }
        if let record = mutation.record { try check(record) }
        for transform in mutation.transforms {
            switch transform.operation {
            case .increment(.integer), .increment(.double), .minimum(.integer),
                .minimum(.double), .maximum(.integer), .maximum(.double), .serverTimestamp,
                .arrayUnion, .arrayRemove:
                break
            case .increment, .minimum, .maximum:
                throw .invalidArgument("the transform of a number has an operand that is none")
            }
        }
    }

    private func check(_ record: Record) throws(LarderError) {
        try record.checkLimits(maxDepth: store.maxDepth, maxBytes: store.maxDocumentBytes)
    }
}
