import CLarder
public import LarderModel

extension WriteTransaction {
    /// Keeps the local view of a document for a user; replaces an earlier one.
    ///
    /// - Parameters:
    ///   - view: the fields as the user sees them; nil when the pending writes delete it.
    ///   - payload: the mutation that makes it, in the caller's encoding.
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
    /// - Returns: whether there was one.
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
    /// - Returns: how many there were.
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
