import LarderDocumentStore
package import LarderModel

extension LocalStore {
    /// Applies batches that the backend has committed, and takes them out of the queue; one
    /// commit for all.
    ///
    /// A document changes only where the acknowledgement is newer than what is cached; else the
    /// watch stream has brought it already. Batches that are not in the queue are passed over.
    ///
    /// - Returns: every document that the batches name, once.
    /// - Throws: `internal` where an acknowledgement does not fit its batch; nothing is changed.
    package func acknowledge(_ acknowledgements: [BatchAcknowledgement])
        throws(LarderError) -> [LocalViewChange]
    {
        try begin(.acknowledgeBatch)
        let refresh = OverlayRefresh(user: user, builder: try RecordBuilder())
        return try commit(forAll: true) { (transaction, shared) throws(LarderError) in
            var (touched, cached) = (TouchedViews(of: user), CachedDocuments())
            for acknowledgement in acknowledgements {
                guard
                    let batch = try transaction.mutationBatch(
                        acknowledgement.batchID, of: user)
                else { continue }
                for document in batch.documents {
                    try touched.note(document.path, in: transaction)
                }
                try apply(
                    acknowledgement, of: BatchContents(payload: batch.payload).mutations,
                    to: &cached, in: transaction, using: refresh.builder)
                try transaction.removeMutationBatch(batch.id, of: user)
                shared?.batches.append(SharedChange.Batch(batch.id, .acknowledged))
            }
            let changes = try cached.write(to: &transaction)
            try refresh.replay(touched.paths, in: &transaction)
            try followForOthers(changes, in: &transaction, using: refresh.builder)
            shared?.note(touched.paths)
            return try touched.changes(in: transaction)
        }
    }

    /// Brings the overlays of the store's other users up to date with changed documents.
    func followForOthers(
        _ changes: [CachedDocuments.Change], in transaction: inout WriteTransaction,
        using builder: RecordBuilder
    ) throws(LarderError) {
        guard !changes.isEmpty else { return }
        for other in try transaction.usersWithMutations() where other != user {
            try OverlayRefresh(user: other, builder: builder).follow(changes, in: &transaction)
        }
    }

    private func apply<T: ReadableTransaction & ~Copyable>(
        _ acknowledgement: BatchAcknowledgement, of mutations: [Mutation],
        to cached: inout CachedDocuments, in transaction: borrowing T,
        using builder: RecordBuilder
    ) throws(LarderError) {
        guard acknowledgement.results.count == mutations.count else {
            throw LarderError(
                .internal,
                "\(acknowledgement.results.count) results for the \(mutations.count) mutations "
                    + "of batch \(acknowledgement.batchID)")
        }
        let results = acknowledgement.results.map { $0.versioned(by: acknowledgement) }
        // The version that the batch leaves a document with is that of its last mutation.
        var versions: [DocumentPath: SnapshotVersion] = [:]
        for (mutation, result) in zip(mutations, results) {
            try mutation.checkFits(result)
            versions[mutation.path] = result.version
        }
        var isNewer: [DocumentPath: Bool] = [:]
        for (mutation, result) in zip(mutations, results) {
            var document = try cached.document(at: mutation.path, in: transaction)
            let applies =
                isNewer[mutation.path]
                ?? (document.version < versions[mutation.path] ?? result.version)
            isNewer[mutation.path] = applies
            guard applies else { continue }
            try document.apply(mutation, committedAs: result, using: builder)
            cached.replace(
                mutation.path, with: document, readTime: acknowledgement.commitVersion)
        }
    }
}

extension MutationResult {
    /// The result with the commit's version where it has none of its own.
    fileprivate func versioned(by acknowledgement: BatchAcknowledgement) -> MutationResult {
        guard version.isNone else { return self }
        return MutationResult(
            version: acknowledgement.commitVersion, transformResults: transformResults)
    }
}

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
                DeadLetter.payload(batch, because: error), version: SnapshotVersion(time))
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
        _ batchIDs: [Int64], as state: SharedChange.Batch.State,
        keep: (MutationBatch, inout WriteTransaction) throws(LarderError) -> Void
    ) throws(LarderError) -> [LocalViewChange] {
        try begin(.rejectBatch)
        let refresh = OverlayRefresh(user: user, builder: try RecordBuilder())
        return try commit(forAll: true) { (transaction, shared) throws(LarderError) in
            var touched = TouchedViews(of: user)
            for id in batchIDs {
                guard let batch = try transaction.mutationBatch(id, of: user) else { continue }
                for document in batch.documents {
                    try touched.note(document.path, in: transaction)
                }
                try keep(batch, &transaction)
                try transaction.removeMutationBatch(id, of: user)
                shared?.batches.append(SharedChange.Batch(id, state))
            }
            try refresh.replay(touched.paths, in: &transaction)
            shared?.note(touched.paths)
            return try touched.changes(in: transaction, revertsWrites: true)
        }
    }
}

/// The backend's word that it has committed a batch.
package struct BatchAcknowledgement: Sendable {
    /// The batch.
    package let batchID: Int64
    /// When the backend committed it.
    package let commitVersion: SnapshotVersion
    /// What each mutation did, in the order of the batch.
    package let results: [MutationResult]

    /// A batch that the backend has committed.
    package init(batchID: Int64, commitVersion: SnapshotVersion, results: [MutationResult]) {
        self.batchID = batchID
        self.commitVersion = commitVersion
        self.results = results
    }
}
