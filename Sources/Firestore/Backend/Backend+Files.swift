import Dispatch
import LarderCore
import LarderDocumentStore
package import LarderModel
import Synchronization

/// All documents from and to files, which bypasses the rules.
///
/// An import is whole or leaves nothing: until its end the store has a mark, with which the next
/// opening of the store deletes the documents that are there.
extension Backend {
    /// Begins an import into a backend without documents.
    ///
    /// Blocks on disk I/O.
    package func beginImport() throws(LarderError) {
        try core.store.write { transaction throws(LarderError) in
            try transaction.putImporting(true)
        }
    }

    /// Commits writes of an import, in one commit.
    ///
    /// Blocks until the commit is on disk; not for the backend's own queue.
    ///
    /// - Throws: `invalidArgument` if a document is invalid; nothing is written then.
    package func commitImported(_ mutations: [Mutation]) throws(LarderError) {
        let result = Mutex<Result<Void, LarderError>>(.success(()))
        let isCommitted = DispatchSemaphore(value: 0)
        core.perform { core in
            core.commit(
                CommitRequest(mutations: mutations, rulesCheck: nil) { outcome in
                    result.withLock { $0 = outcome.map { _ in } }
                    isCommitted.signal()
                })
        }
        isCommitted.wait()
        try result.withLock { $0 }.get()
    }

    /// Ends an import: its documents stay.
    package func endImport() throws(LarderError) {
        try core.store.write { transaction throws(LarderError) in
            try transaction.putImporting(false)
        }
    }

    /// Deletes the documents of an import that has begun and not ended.
    package func discardImport() throws(LarderError) {
        try core.store.discardPartialImport()
    }

    /// Ends all streams and rejects later requests with `unavailable`, as ``close()`` does, but
    /// leaves the files open for ``forEachDocument(_:)``.
    package func stop() async {
        await withCheckedContinuation { continuation in
            core.perform { core in
                core.stop()
                continuation.resume()
            }
        }
    }

    /// Passes all documents of one snapshot to a closure, by collections in the order of their
    /// paths.
    ///
    /// Runs on the calling thread, within one read transaction of the store.
    ///
    /// - Throws: errors of the closure; `dataLoss` for a damaged document.
    package func forEachDocument(
        _ body: (DocumentPath, MapValue) throws(LarderError) -> Void
    ) throws(LarderError) {
        try core.store.read { (transaction) throws(LarderError) in
            for collection in try transaction.allCollections() where collection.documentCount > 0 {
                try transaction.documents(in: .collection(collection.path)) {
                    entry throws(LarderError) in
                    try body(entry.path, try entry.record.fields())
                    return .continue
                }
            }
        }
    }
}

extension Store {
    private static let removalsPerCommit = 1_000

    /// Removes all documents if an import has begun and not ended, which nobody can have read.
    func discardPartialImport() throws(LarderError) {
        guard
            try read({ (transaction) throws(LarderError) in try transaction.isImporting() })
        else { return }
        var isEmpty = false
        while !isEmpty {
            let paths = try somePaths(limit: Self.removalsPerCommit)
            isEmpty = paths.isEmpty
            try write { transaction throws(LarderError) in
                for path in paths { try transaction.remove(path) }
                if isEmpty { try transaction.putImporting(false) }
            }
        }
    }
}
