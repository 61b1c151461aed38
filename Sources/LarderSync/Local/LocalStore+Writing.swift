package import LarderModel
import LarderStorage

extension LocalStore {
    /// Puts writes into the queue and makes them visible, all in one commit.
    ///
    /// Later writes see earlier ones. A write that cannot be made fails alone and leaves nothing:
    /// a document that it makes is beyond the limits of size or depth (`invalidArgument`), or an
    /// expectation no longer holds (`aborted`). A mutation whose precondition does not hold of
    /// the local view is queued all the same and changes nothing here.
    ///
    /// - Returns: an outcome for each write, in order.
    /// - Throws: what the store throws when nothing could be committed.
    package func write(_ writes: [PendingWrite])
        throws(LarderError) -> [Result<WrittenBatch, LarderError>]
    {
        throw LarderError(.unimplemented, "writing")
    }
}
