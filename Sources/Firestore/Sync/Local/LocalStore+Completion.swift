import LarderDocumentStore
package import LarderModel
package import LarderRemote

extension LocalStore {
    /// Applies batches that the backend has committed, and removes them from the queue, in one
    /// commit.
    ///
    /// A document changes only if the commit is newer than the cached document; otherwise the watch
    /// stream has sent it already. Batches that are not in the queue are ignored.
    ///
    /// - Returns: every document of the batches, once.
    /// - Throws: `internal` for a response that does not fit its batch; nothing is changed.
    package func acknowledge(_ commits: [(batchID: Int64, response: CommitResponse)])
        throws(LarderError) -> [LocalChange]
    {
        try begin(.acknowledgeBatch)
        let refresh = OverlayRefresh(user: user, builder: try RecordBuilder())
        return try commit(forAll: true) { (transaction, shared) throws(LarderError) in
            var (touched, cached) = (TouchedViews(of: user), CachedDocuments())
            var removed: [MutationRow] = []
            for (batchID, response) in commits {
                guard let batch = try transaction.mutationBatch(batchID, of: user) else {
                    continue
                }
                for document in batch.documents {
                    try touched.note(document.path, in: transaction)
                }
                try apply(
                    response, to: batch, in: transaction, &cached, using: refresh.builder)
                try transaction.removeMutationBatch(batch.id, of: user)
                removed.append(batch)
                shared?.batches.append(SharedChange.Batch(batch.id, .acknowledged))
            }
            let changes = try cached.write(to: &transaction)
            try refresh.replay(
                touched.paths, without: removed, after: changes, in: &transaction)
            try followForOthers(changes, in: &transaction, using: refresh.builder)
            shared?.note(touched.paths)
            return try touched.changes(in: transaction)
        }
    }

    /// Updates the overlays of the store's other users to changed documents.
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
        _ response: CommitResponse, to batch: MutationRow, in transaction: borrowing T,
        _ cached: inout CachedDocuments, using builder: RecordBuilder
    ) throws(LarderError) {
        if let documents = response.documents {
            for document in documents {
                let known = try cached.document(at: document.path, in: transaction)
                guard document.counts(over: known) else { continue }
                cached.replace(
                    document.path, with: document.document, readTime: document.version)
            }
            return
        }
        let mutations = try MutationPayload(batch.payload).mutations
        guard response.results.count == mutations.count else {
            throw LarderError(
                .internal,
                "\(response.results.count) results for the \(mutations.count) mutations "
                    + "of batch \(batch.id)")
        }
        let results = response.results.map { $0.versioned(by: response.commitVersion) }
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
            cached.replace(mutation.path, with: document, readTime: response.commitVersion)
        }
    }
}

extension MutationResult {
    /// The result with the commit's version where it has none of its own.
    fileprivate func versioned(by commitVersion: SnapshotVersion) -> MutationResult {
        version.isNone
            ? MutationResult(version: commitVersion, transformResults: transformResults) : self
    }
}

extension LocalStore {
    /// Removes rejected batches from anywhere in the queue, and stores each as a dead letter, in
    /// one commit.
    ///
    /// Batches that are not in the queue are ignored.
    ///
    /// - Parameters:
    ///   - time: the time of the rejection, by the local clock.
    /// - Returns: every document of the batches, once.
    package func reject(_ batchIDs: [Int64], because error: LarderError, at time: Timestamp)
        throws(LarderError) -> [LocalChange]
    {
        try drop(batchIDs, as: .rejected(error)) { (batch, transaction) throws(LarderError) in
            try transaction.putDeadLetter(batch, of: user, because: error, at: time)
        }.changes
    }

    /// Removes cancelled batches from anywhere in the queue, in one commit.
    ///
    /// Batches that are not in the queue are ignored.
    ///
    /// - Returns: every document of the batches, once.
    package func cancel(_ batchIDs: [Int64]) throws(LarderError) -> [LocalChange] {
        try cancelPending(batchIDs).changes
    }

    /// Removes cancelled batches like ``cancel(_:)``.
    ///
    /// - Returns: the ids of those that were in the queue, in the given order, and every document
    ///   of them, once.
    func cancelPending(_ batchIDs: [Int64])
        throws(LarderError) -> (dropped: [Int64], changes: [LocalChange])
    {
        try drop(batchIDs, as: .cancelled) { (_, _) throws(LarderError) in }
    }

    private func drop(
        _ batchIDs: [Int64], as state: SharedChange.Batch.State,
        keep: (MutationRow, inout WriteTransaction) throws(LarderError) -> Void
    ) throws(LarderError) -> (dropped: [Int64], changes: [LocalChange]) {
        try begin(.rejectBatch)
        let refresh = OverlayRefresh(user: user, builder: try RecordBuilder())
        return try commit(forAll: true) { (transaction, shared) throws(LarderError) in
            var (touched, removed) = (TouchedViews(of: user), [MutationRow]())
            for id in batchIDs {
                guard let batch = try transaction.mutationBatch(id, of: user) else { continue }
                for document in batch.documents {
                    try touched.note(document.path, in: transaction)
                }
                try keep(batch, &transaction)
                try transaction.removeMutationBatch(id, of: user)
                removed.append(batch)
                shared?.batches.append(SharedChange.Batch(id, state))
            }
            let dropped = removed.map(\.id)
            removed.sort { $0.id < $1.id }
            try refresh.replay(touched.paths, without: removed, after: [], in: &transaction)
            shared?.note(touched.paths)
            return (dropped, try touched.changes(in: transaction, revertsWrites: true))
        }
    }
}
