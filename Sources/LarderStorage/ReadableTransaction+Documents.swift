import CLarder
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
        try withDocument(at: path, asSeenBy: user) { (entry) throws(LarderError) in
            try entry.document()
        }
    }

    /// Lends a document to a closure without copying it; nil, without a call, when the store
    /// knows nothing of it.
    ///
    /// - Throws: what the closure throws; `dataLoss` for a damaged row.
    public func withDocument<R>(
        at path: DocumentPath, asSeenBy user: UserID? = nil,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> R
    ) throws(LarderError) -> R? {
        let reader = snapshot.reader
        let result: Result<R?, LarderError> = withBytes(path.string) { name in
            Result { () throws(LarderError) -> R? in
                var document = larder_document()
                let status = try call { failure in
                    guard let user else {
                        return larder_document_get(reader, name, &document, failure)
                    }
                    return withBytes(user.string) {
                        larder_document_get_local(reader, $0, name, &document, failure)
                    }
                }
                // The document borrows the name.
                return status == .ok ? try withEntry(&document, body) : nil
            }
        }
        return try result.get()
    }
}

/// Lends a document that the core filled in.
func withEntry<R>(
    _ document: inout larder_document,
    _ body: (borrowing DocumentEntry) throws(LarderError) -> R
) throws(LarderError) -> R {
    try withUnsafePointer(to: &document) { (pointer) throws(LarderError) in
        try body(DocumentEntry(pointer, scratch: RecordScratch(), scan: nil))
    }
}
