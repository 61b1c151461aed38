import CLarder
public import LarderModel
public import LarderStorage

/// A user's local view of one document, the result of pending writes.
public struct Overlay: Sendable, Equatable {
    /// The document in the user's view; absent if the pending writes delete it.
    public let document: Document

    /// The mutation that produces the view, in the caller's encoding.
    public let payload: [UInt8]

    /// The largest pending batch that touches the document.
    public var largestBatchID: Int64 { document.largestBatchID }
}

extension ReadableTransaction where Self: ~Copyable {
    /// A user's overlay of a document; nil if there is none.
    ///
    /// Use `DocumentSource.overlays(of:in:sinceBatch:)` and related sources for scans.
    public func overlay(at path: DocumentPath, of user: UserID) throws(LarderError) -> Overlay? {
        let reader = snapshot.reader
        let result: Result<Overlay?, LarderError> = withBytes(path.string) { name in
            Result { () throws(LarderError) -> Overlay? in
                var view = larder_document()
                var payload = larder_bytes()
                let status = try call { failure in
                    withBytes(user.string) {
                        larder_overlay_get(reader, $0, name, &view, &payload, failure)
                    }
                }
                guard status == .ok else { return nil }
                let copied = payload.array
                var overlay: Overlay?
                try lend(&view, at: path) { entry throws(LarderError) in
                    overlay = Overlay(document: try entry.document(), payload: copied)
                }
                return overlay
            }
        }
        return try result.get()
    }
}

extension WriteTransaction {
    /// Stores a user's local view of a document; replaces an earlier one.
    ///
    /// - Parameters:
    ///   - view: the fields in the user's view; nil if the pending writes delete the document.
    ///   - payload: the mutation that produces the view, in the caller's encoding.
    ///   - path: the document.
    ///   - user: the user.
    ///   - batch: the largest pending batch that touches the document.
    public mutating func putOverlay(
        _ view: Record?, payload: [UInt8] = [], at path: DocumentPath, of user: UserID,
        largestBatchID batch: Int64
    ) throws(LarderError) {
        try withPlainBytes(view) { plain, failure in
            withBytes(user.string) { user in
                withBytes(path.string) { name in
                    withBytes(payload) {
                        larder_overlay_put(writer, user, name, batch, plain, $0, failure)
                    }
                }
            }
        }
    }

    /// Removes a user's overlay of a document.
    ///
    /// - Returns: true if there was one.
    @discardableResult
    public mutating func removeOverlay(at path: DocumentPath, of user: UserID)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(user.string) { user in
                withBytes(path.string) { larder_overlay_remove(writer, user, $0, failure) }
            }
        }
        return status == .ok
    }

    /// Removes a user's overlays that were saved under a batch.
    ///
    /// - Returns: the number of removed overlays.
    @discardableResult
    public mutating func removeOverlays(savedUnder batch: Int64, of user: UserID)
        throws(LarderError) -> Int64
    {
        var count: Int64 = 0
        try call { failure in
            withBytes(user.string) {
                larder_overlay_remove_batch(writer, $0, batch, &count, failure)
            }
        }
        return count
    }
}
