import LarderDocumentStore
import LarderModel

extension LocalStore {
    /// Applies a write of documents that belong to the store alone, as a backend would: all of its
    /// mutations, or none if a precondition does not hold.
    ///
    /// The documents' version is the local time, or the one after their last version. Pending
    /// writes of such documents, made before they were local only, stay above it. Nothing is left of
    /// a document that was deleted.
    ///
    /// - Returns: 0 and every document of the write, once; a failure, with nothing written, if the
    ///   write is impossible.
    /// - Throws: an error after which the transaction must not be committed.
    func make(
        _ write: QueuedWrite, in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> Result<(id: Int64, changes: [LocalChange]), LarderError> {
        try makeForResults(write, in: &transaction, using: builder).map { (0, $0.changes) }
    }

    /// Applies a write as ``make(_:in:using:)`` does, and returns the results of its mutations, too.
    func makeForResults(
        _ write: QueuedWrite, in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> Result<
        (results: [MutationResult], changes: [LocalChange]), LarderError
    > {
        var (cached, touched) = (CachedDocuments(), TouchedViews(of: user))
        let results: [MutationResult]
        do throws(LarderError) {
            try check(write.expectations, in: transaction)
            for mutation in write.mutations { try touched.note(mutation.path, in: transaction) }
            results = try make(
                write.mutations, at: write.localWriteTime, over: &cached, in: transaction,
                using: builder)
        } catch {
            return .failure(error)
        }
        let changes = try cached.write(to: &transaction)
        try OverlayRefresh(user: user, builder: builder).recompute(touched.paths, in: &transaction)
        try followForOthers(changes, in: &transaction, using: builder)
        return .success((results, try touched.changes(in: transaction)))
    }

    /// Makes each mutation by itself, in one commit.
    ///
    /// - Returns: the result of each, or why it is impossible; every document that has changed.
    func makeEach(_ mutations: [Mutation], at time: Timestamp) throws(LarderError)
        -> (results: [Result<MutationResult, LarderError>], changes: [LocalChange])
    {
        try begin(.writeMutations)
        let builder = try RecordBuilder()
        return try commit { (transaction, shared) throws(LarderError) in
            var results: [Result<MutationResult, LarderError>] = []
            var changes: [LocalChange] = []
            for mutation in mutations {
                let write = QueuedWrite(mutations: [mutation], localWriteTime: time)
                let made = try makeForResults(write, in: &transaction, using: builder)
                results.append(made.map { $0.results[0] })
                if case .success(let made) = made { changes += made.changes }
            }
            shared?.note(changes.map(\.path))
            return (results, changes)
        }
    }

    /// Applies mutations to cached documents, all of them or none.
    ///
    /// - Throws: the reason why they are impossible; the documents are then as they were.
    @discardableResult
    func make<T: ReadableTransaction & ~Copyable>(
        _ mutations: [Mutation], at time: Timestamp, over cached: inout CachedDocuments,
        in transaction: borrowing T, using builder: RecordBuilder
    ) throws(LarderError) -> [MutationResult] {
        var changed = cached
        let version = try version(of: mutations, at: time, over: &changed, in: transaction)
        var results: [MutationResult] = []
        for mutation in mutations {
            try check(mutation)
            var document = try changed.document(at: mutation.path, in: transaction)
            try document.check(mutation)
            results.append(try document.commit(mutation, at: version, using: builder))
            if let record = document.record { try check(record) }
            if case .absent = document.state {
                document = WorkingDocument(state: .nothing, version: .none)
            }
            changed.replace(mutation.path, with: document, readTime: version)
        }
        cached = changed
        return results
    }

    /// The version that a write gives its documents: above that of each.
    private func version<T: ReadableTransaction & ~Copyable>(
        of mutations: [Mutation], at time: Timestamp, over cached: inout CachedDocuments,
        in transaction: borrowing T
    ) throws(LarderError) -> SnapshotVersion {
        var version = SnapshotVersion(time.truncatedToMicroseconds)
        for mutation in mutations {
            let known = try cached.document(at: mutation.path, in: transaction).version
            if known >= version { version = known.next }
        }
        return version
    }
}

extension WorkingDocument {
    /// Throws, as Firestore does, unless a mutation's precondition holds.
    fileprivate func check(_ mutation: Mutation) throws(LarderError) {
        guard !satisfies(mutation.precondition) else { return }
        switch mutation.precondition {
        case .none: return
        case .exists(true):
            throw LarderError(.notFound, "No document to update: '\(mutation.path)'")
        case .exists(false):
            throw LarderError(.alreadyExists, "Document already exists: '\(mutation.path)'")
        case .updateTime(let expected):
            throw LarderError(
                .failedPrecondition,
                "the stored version (\(version)) of '\(mutation.path)' does not match the required "
                    + "base version (\(expected))")
        }
    }
}

extension SnapshotVersion {
    /// The version a microsecond later.
    fileprivate var next: SnapshotVersion {
        let nanoseconds = timestamp.nanoseconds + 1_000
        let carry: Int32 = nanoseconds >= 1_000_000_000 ? 1 : 0
        return SnapshotVersion(
            Timestamp(
                unchecked: timestamp.seconds + Int64(carry), nanoseconds - carry * 1_000_000_000))
    }
}
