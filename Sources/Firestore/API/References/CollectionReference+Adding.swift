extension CollectionReference {
    /// Adds a document with a new id.
    ///
    /// Returns at once; the document is there for every later read and listener.
    ///
    /// - Parameters:
    ///   - data: the document's fields.
    ///   - completion: called once the backend has accepted the document, which offline may be
    ///     never, or with why it was refused.
    /// - Returns: the document's reference.
    @discardableResult
    public func addDocument(
        data: [String: Any], completion: (((any Error)?) -> Void)? = nil
    ) -> DocumentReference {
        let document = document()
        document.setData(data, completion: completion)
        return document
    }

    /// Adds a document with a new id, and waits until the backend has accepted it; offline it
    /// waits.
    ///
    /// - Throws: why the document was refused; `cancelled` when the task is cancelled, while the
    ///   write goes on.
    @discardableResult
    public nonisolated(nonsending) func addDocument(
        data: [String: Any]
    ) async throws -> DocumentReference {
        let document = document()
        try await document.setData(data)
        return document
    }

    /// Adds a document with a new id, and tells how the write comes along.
    ///
    /// Returns at once.
    @discardableResult
    public func enqueueAddDocument(
        data: [String: Any]
    ) -> (document: DocumentReference, write: WriteHandle) {
        let document = document()
        return (document, document.enqueueSetData(data))
    }
}
