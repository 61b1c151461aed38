public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// What the store knows of a document; nil when that is nothing.
    ///
    /// Logarithmic in the number of documents.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - user: whose pending writes are in the answer; nil for the document as the backend
    ///     last had it.
    /// - Throws: `dataLoss` for a damaged row.
    public func document(at path: DocumentPath, asSeenBy user: UserID? = nil)
        throws(LarderError) -> Document?
    {
        var document: Document?
        try snapshot.visitDocument(at: path, asSeenBy: user) { entry throws(LarderError) in
            document = try entry.document()
        }
        return document
    }

    /// Lends a document to a closure without copying it; nil, without a call, when the store
    /// knows nothing of it.
    ///
    /// - Throws: what the closure throws; `dataLoss` for a damaged row.
    @inlinable
    public func withDocument<R>(
        at path: DocumentPath, asSeenBy user: UserID? = nil,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> R
    ) throws(LarderError) -> R? {
        var result: R?
        try snapshot.visitDocument(at: path, asSeenBy: user) { entry throws(LarderError) in
            result = try body(entry)
        }
        return result
    }
}
