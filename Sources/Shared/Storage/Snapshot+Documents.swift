import CLarder
public import LarderModel

extension Snapshot {
    /// Lends a document to a closure, unless the store knows nothing of it.
    ///
    /// Not generic, so that only its thin callers are compiled again for each use.
    @usableFromInline
    func visitDocument(
        at path: DocumentPath, asSeenBy user: UserID?,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> Void
    ) throws(LarderError) {
        // The document borrows the name's bytes, and withUTF8 passes no typed errors on.
        var thrown: LarderError?
        var name = path.string
        name.withUTF8 { bytes in
            do throws(LarderError) {
                let name = larder_bytes(UnsafeRawBufferPointer(bytes))
                var document = larder_document()
                guard try get(name, user, &document) else { return }
                try lend(&document, at: path, to: body)
            } catch {
                thrown = error
            }
        }
        if let thrown { throw thrown }
    }

    private func get(_ name: larder_bytes, _ user: UserID?, _ document: inout larder_document)
        throws(LarderError) -> Bool
    {
        var failure = larder_error()
        let status: Int32
        if let user {
            status = withBytes(user.string) {
                larder_document_get_local(reader, $0, name, &document, &failure)
            }
        } else {
            status = larder_document_get(reader, name, &document, &failure)
        }
        guard status >= 0 else { throw error(of: status, failure) }
        return status == .ok
    }
}

/// Lends a document that the core filled in.
func lend(
    _ document: inout larder_document, at path: DocumentPath,
    to body: (borrowing DocumentEntry) throws(LarderError) -> Void
) throws(LarderError) {
    var scratch = RecordScratch()
    try withUnsafeMutablePointer(to: &document) { (document) throws(LarderError) in
        try withUnsafeMutablePointer(to: &scratch) { (scratch) throws(LarderError) in
            try body(DocumentEntry(document, scratch: scratch, path: path))
        }
    }
}
