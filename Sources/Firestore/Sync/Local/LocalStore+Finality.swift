import LarderDocumentStore
import LarderModel

/// Conversions between pending writes and final documents of a store that is a local database.
///
/// They stop when another process has changed the store's role.
extension LocalStore {
    /// The limits of a commit, which bound its transaction.
    private static let batchesPerCommit = 500
    private static let bytesPerCommit = 4 << 20

    /// Makes the pending writes of all users final, in their order, under a backend's rules: a write
    /// whose precondition does not hold changes nothing and becomes a dead letter.
    ///
    /// - Parameter time: the time of refusals, by the local clock.
    /// - Returns: the numbers of final and of refused writes.
    func makePendingWritesFinal(at time: Timestamp)
        throws(LarderError) -> (final: Int, refused: Int)
    {
        var sum = (final: 0, refused: 0)
        let isPending = try store.read { (transaction) throws(LarderError) in
            try !transaction.usersWithMutations().isEmpty
        }
        guard isPending else { return sum }
        let builder = try RecordBuilder()
        while true {
            let part = try store.write { (transaction) throws(LarderError) in
                try makeFirstWritesFinal(at: time, in: &transaction, using: builder)
            }
            guard let part else { return sum }
            sum.final += part.final
            sum.refused += part.refused
        }
    }

    /// - Returns: nil if there are no pending writes.
    private func makeFirstWritesFinal(
        at time: Timestamp, in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> (final: Int, refused: Int)? {
        guard try transaction.role() == .local else { return nil }
        let users = try transaction.usersWithMutations()
        var heads: [(user: UserID, batch: MutationRow)] = []
        for user in users {
            if let batch = try transaction.nextMutationBatch(of: user) {
                heads.append((user, batch))
            }
        }
        guard !heads.isEmpty else { return nil }
        var (cached, touched) = (CachedDocuments(), Set<DocumentPath>())
        var (count, sizeBytes) = ((final: 0, refused: 0), 0)
        // Ids increase across users.
        while let next = heads.indices.min(by: { heads[$0].batch.id < heads[$1].batch.id }),
            count.final + count.refused < Self.batchesPerCommit, sizeBytes < Self.bytesPerCommit
        {
            let (user, batch) = heads[next]
            sizeBytes += batch.payload.count
            touched.formUnion(batch.documents.map(\.path))
            let mutations = try MutationPayload(batch.payload).mutations
            do throws(LarderError) {
                try make(
                    mutations, at: batch.localWriteTime, over: &cached, in: transaction,
                    using: builder)
                count.final += 1
            } catch {
                guard error.isRefusal else { throw error }
                try transaction.putDeadLetter(batch, of: user, because: error, at: time)
                count.refused += 1
            }
            try transaction.removeMutationBatch(batch.id, of: user)
            if let following = try transaction.nextMutationBatch(after: batch.id, of: user) {
                heads[next].batch = following
            } else {
                heads.remove(at: next)
            }
        }
        _ = try cached.write(to: &transaction)
        let paths = touched.sorted()
        for user in users {
            try OverlayRefresh(user: user, builder: builder).recompute(paths, in: &transaction)
        }
        return count
    }

    /// Replaces each document by a pending write that sets it.
    ///
    /// In commits of limited size; after a crash another call queues the rest.
    ///
    /// - Parameter rules: documents that are local only by these rules stay as they are.
    /// - Throws: `invalidArgument` for a document beyond the limits of the store's configuration.
    func queueDocuments(besides rules: CacheRules) throws(LarderError) {
        let builder = try RecordBuilder()
        let collections = try store.read { (transaction) throws(LarderError) in
            try transaction.allCollections().map(\.path)
        }
        for collection in collections where !rules.isLocalOnly(collection) {
            while try queueFirstDocuments(of: collection, using: builder) {}
        }
    }

    /// - Returns: false if the collection has no documents.
    private func queueFirstDocuments(
        of collection: CollectionPath, using builder: RecordBuilder
    ) throws(LarderError) -> Bool {
        try store.write { (transaction) throws(LarderError) in
            guard try transaction.role() == .local else { return false }
            var (documents, sizeBytes) = ([Document](), 0)
            try transaction.documents(in: .collection(collection)) {
                entry throws(LarderError) in
                let document = try entry.document()
                documents.append(document)
                sizeBytes += document.record?.byteCount ?? 0
                return documents.count < Self.batchesPerCommit && sizeBytes < Self.bytesPerCommit
                    ? .continue : .stop
            }
            for document in documents {
                try transaction.remove(document.path)
                guard let record = document.record else { continue }
                let write = QueuedWrite(
                    mutations: [Mutation(.set(record), at: document.path)],
                    localWriteTime: document.version.timestamp)
                _ = try append(write, to: &transaction, using: builder).get()
            }
            return !documents.isEmpty
        }
    }
}

extension LarderError {
    /// True for an error of the write itself, not of the store.
    fileprivate var isRefusal: Bool {
        switch kind {
        case .notFound, .alreadyExists, .failedPrecondition, .aborted, .invalidArgument: true
        default: false
        }
    }
}
