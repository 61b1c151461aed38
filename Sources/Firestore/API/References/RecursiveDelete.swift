import LarderModel
import LarderRemote
import LarderRuntime
import LarderSync

extension Firestore {
    /// Deletes all documents of a collection, and all their descendants.
    ///
    /// The names of the documents are read from the server in pages, and deleted there by a bulk
    /// writer: in any order, not atomically, bypassing the cache and the queue of pending writes.
    /// Documents that are added meanwhile may remain. A call that fails or is cancelled has deleted
    /// a part; another call continues with the rest.
    ///
    /// ```swift
    /// try await db.recursiveDelete(db.collection("cities")) { print("\($0) deleted") }
    /// ```
    ///
    /// - Parameters:
    ///   - collection: the collection.
    ///   - bulkWriter: the writer that deletes; nil for one with the default options. All of its
    ///     earlier writes are waited for.
    ///   - onProgress: called with the number of deleted documents so far, after each page.
    /// - Returns: the number of deleted documents.
    /// - Throws: `unavailable` if the server cannot be reached; `cancelled` if the task is
    ///   cancelled; errors of the backend; the code of the last error, with the number of errors,
    ///   if documents could not be deleted.
    @discardableResult
    public nonisolated(nonsending) func recursiveDelete(
        _ collection: CollectionReference, bulkWriter: BulkWriter? = nil,
        onProgress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Int {
        var deletion = RecursiveDelete(self, bulkWriter, onProgress)
        try await deletion.run(.collection(try collection.collection.get()))
        return try deletion.end()
    }

    /// Deletes a document, which need not exist, and all its descendants, the document last.
    ///
    /// Otherwise like ``recursiveDelete(_:bulkWriter:onProgress:)-(CollectionReference,_,_)``.
    ///
    /// - Parameters:
    ///   - document: the document.
    ///   - bulkWriter: the writer that deletes; nil for one with the default options. All of its
    ///     earlier writes are waited for.
    ///   - onProgress: called with the number of deleted documents so far, after each page.
    /// - Returns: the number of deleted documents, including the document itself.
    @discardableResult
    public nonisolated(nonsending) func recursiveDelete(
        _ document: DocumentReference, bulkWriter: BulkWriter? = nil,
        onProgress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> Int {
        var deletion = RecursiveDelete(self, bulkWriter, onProgress)
        let path = try document.location.get()
        try await deletion.run(.below(path))
        await deletion.delete([path])
        return try deletion.end()
    }
}

/// The deletion of a part of the database, page by page.
private struct RecursiveDelete {
    /// The documents of a page; bounds the names and writes in memory.
    private static let pageCount = 5_000

    private let firestore: Firestore
    private let writer: BulkWriter
    private let onProgress: (@Sendable (Int) -> Void)?
    private var deletedCount = 0
    private var failedCount = 0
    private var lastError: LarderError?

    init(
        _ firestore: Firestore, _ writer: BulkWriter?, _ onProgress: (@Sendable (Int) -> Void)?
    ) {
        self.firestore = firestore
        // The errors are thrown.
        self.writer =
            writer ?? BulkWriter(firestore, BulkWriterOptions(), logsFailures: false)
        self.onProgress = onProgress
    }

    /// Deletes all documents of a part of the database.
    nonisolated(nonsending) mutating func run(_ subtree: SubtreePage.Subtree) async throws {
        var page = SubtreePage(subtree, limit: Self.pageCount)
        while true {
            let (firestore, request) = (firestore, page)
            let paths: [DocumentPath] = try await answer { done in
                firestore.withClient(done) { $0.listAtServer(request, completion: $1) }
            }
            await delete(paths)
            guard paths.count == page.limit else { return }
            page.after = paths.last
            guard !Task.isCancelled else {
                throw LarderError(
                    .cancelled, "The deletion was cancelled after \(deletedCount) documents.")
            }
        }
    }

    /// Deletes documents, and waits for their results.
    nonisolated(nonsending) mutating func delete(_ paths: [DocumentPath]) async {
        let writes = paths.map { writer.deleteDocument(DocumentReference(firestore, $0)) }
        await writer.flush()
        for write in writes {
            do throws(LarderError) {
                // Not ended by a cancelled task: the count is of what was deleted.
                _ = try await answer { write.whenFinished($0) }
                deletedCount += 1
            } catch {
                failedCount += 1
                lastError = error
            }
        }
        if !paths.isEmpty { onProgress?(deletedCount) }
    }

    /// The number of deleted documents, unless some could not be deleted.
    func end() throws(LarderError) -> Int {
        guard let lastError else { return deletedCount }
        throw LarderError(
            lastError.kind,
            "\(failedCount) \(failedCount == 1 ? "delete" : "deletes") failed. The last delete "
                + "failed with: \(lastError.message)", cause: lastError)
    }
}
