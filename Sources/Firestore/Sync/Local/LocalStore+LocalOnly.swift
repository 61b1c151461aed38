import LarderDocumentStore
import LarderModel

extension LocalStore {
    /// Makes a write of documents that belong to the store alone, as a backend would: all of its
    /// mutations, or none if a precondition does not hold.
    ///
    /// The documents' version is the local time, or the one after their last version. Pending
    /// writes of such documents, made before they were local only, stay above it.
    ///
    /// - Returns: 0 and every document of the write, once; a failure, with nothing written, if the
    ///   write is impossible.
    /// - Throws: an error after which the transaction must not be committed.
    func make(
        _ write: QueuedWrite, in transaction: inout WriteTransaction, using builder: RecordBuilder
    ) throws(LarderError) -> Result<(id: Int64, changes: [LocalChange]), LarderError> {
        var (cached, touched) = (CachedDocuments(), TouchedViews(of: user))
        do throws(LarderError) {
            try check(write.expectations, in: transaction)
            for mutation in write.mutations {
                try check(mutation)
                try touched.note(mutation.path, in: transaction)
            }
            let version = try version(of: write, over: &cached, in: transaction)
            for mutation in write.mutations {
                var document = try cached.document(at: mutation.path, in: transaction)
                try document.check(mutation)
                _ = try document.commit(mutation, at: version, using: builder)
                if let record = document.record { try check(record) }
                cached.replace(mutation.path, with: document, readTime: version)
            }
        } catch {
            return .failure(error)
        }
        let changes = try cached.write(to: &transaction)
        try OverlayRefresh(user: user, builder: builder).replay(touched.paths, in: &transaction)
        try followForOthers(changes, in: &transaction, using: builder)
        return .success((id: 0, changes: try touched.changes(in: transaction)))
    }

    /// The version that a write gives its documents: above that of each.
    private func version<T: ReadableTransaction & ~Copyable>(
        of write: QueuedWrite, over cached: inout CachedDocuments, in transaction: borrowing T
    ) throws(LarderError) -> SnapshotVersion {
        var version = SnapshotVersion(write.localWriteTime.truncatedToMicroseconds)
        for mutation in write.mutations {
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
