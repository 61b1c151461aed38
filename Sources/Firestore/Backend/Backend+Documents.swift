import LarderDocumentStore
public import LarderModel
import LarderRemote

/// Operations for tests and tools, which bypass the rules.
extension Backend {
    /// The backend's document; nil if there is none.
    ///
    /// Reads the newest commit on the calling thread without waiting.
    ///
    /// - Throws: `dataLoss` for a damaged document; `failedPrecondition` for a closed backend.
    public func document(at path: DocumentPath) throws(LarderError) -> Document? {
        let document = try core.store.read { (transaction) throws(LarderError) in
            let floor = core.floor(at: try transaction.commitVersion())
            return try transaction.document(at: path)?.served(above: floor)
        }
        return document.flatMap { $0.exists ? $0 : nil }
    }

    /// The number of documents in a collection, not counting subcollections, or in total.
    ///
    /// Reads the newest commit on the calling thread; linear in the number of collections.
    public func documentCount(in collection: CollectionPath? = nil) throws(LarderError) -> Int {
        try core.store.read { (transaction) throws(LarderError) in
            var count: Int64 = 0
            if let collection {
                count = try transaction.collection(at: collection)?.documentCount ?? 0
            } else {
                try transaction.collections { info in
                    count += info.documentCount
                    return .continue
                }
            }
            return Int(count)
        }
    }

    /// Deletes all documents; listeners are notified.
    ///
    /// Large numbers are deleted in several commits. Documents written meanwhile may remain.
    public func deleteAllDocuments() async throws(LarderError) {
        let result = await withCheckedContinuation { continuation in
            deleteAllDocuments { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Like ``deleteAllDocuments()``; returns immediately.
    package func deleteAllDocuments(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        core.perform { $0.deleteAllDocuments(completion) }
    }

    /// Discards the tombstones of documents deleted before a time, to free space.
    ///
    /// Clients that have not received these deletes have to read their queries again. Blocks the
    /// calling thread for a scan of all document names.
    ///
    /// - Returns: the number of discarded tombstones.
    @discardableResult
    public func forgetDeletes(before moment: Timestamp) throws(LarderError) -> Int {
        try core.store.forgetDeletes(before: SnapshotVersion(moment))
    }
}

extension BackendCore {
    private static let deletesPerCommit = 1_000

    func deleteAllDocuments(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        let found = Result { () throws(LarderError) in
            try store.somePaths(limit: Self.deletesPerCommit)
        }
        switch found {
        case .failure(let error): completion(.failure(error))
        case .success(let paths) where paths.isEmpty: completion(.success(()))
        case .success(let paths):
            commit(
                CommitRequest(mutations: paths.map { Mutation(.delete, at: $0) }, rulesCheck: nil) {
                    result in
                    switch result {
                    case .failure(let error): completion(.failure(error))
                    case .success: self.perform { $0.deleteAllDocuments(completion) }
                    }
                })
        }
    }
}

extension Store {
    /// The paths of existing documents, up to a limit.
    func somePaths(limit: Int) throws(LarderError) -> [DocumentPath] {
        try read { (transaction) throws(LarderError) in
            var paths: [DocumentPath] = []
            for collection in try transaction.allCollections() where paths.count < limit {
                guard collection.documentCount > 0 else { continue }
                try transaction.documents(in: .collection(collection.path)) {
                    entry throws(LarderError) in
                    paths.append(entry.path)
                    return paths.count < limit ? .continue : .stop
                }
            }
            return paths
        }
    }

    /// Removes tombstones before a version, and records that.
    fileprivate func forgetDeletes(before version: SnapshotVersion) throws(LarderError) -> Int {
        try write { transaction throws(LarderError) in
            // Tombstones of future deletes are kept.
            let version = min(version, try transaction.commitVersion().successor)
            var forgotten: [DocumentPath] = []
            for collection in try transaction.allCollections() {
                try transaction.documents(
                    in: .collection(collection.path), options: ScanOptions(includesAllStates: true)
                ) { entry throws(LarderError) in
                    if entry.state == .absent, entry.version < version {
                        forgotten.append(entry.path)
                    }
                    return .continue
                }
            }
            for path in forgotten { try transaction.remove(path) }
            let earlier = try transaction.deletesForgottenBefore()
            try transaction.putDeletesForgotten(before: max(earlier, version))
            return forgotten.count
        }
    }
}
