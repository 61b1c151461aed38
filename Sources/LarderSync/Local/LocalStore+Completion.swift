package import LarderModel
import LarderStorage

extension LocalStore {
    /// Applies batches that the backend has committed, and takes them out of the queue; one
    /// commit for all.
    ///
    /// Batches that are not in the queue are passed over.
    ///
    /// - Returns: every document that the batches name, once, in no particular order.
    /// - Throws: `internal` where an acknowledgement does not fit its batch; nothing is changed.
    package func acknowledge(_ acknowledgements: [BatchAcknowledgement])
        throws(LarderError) -> [LocalViewChange]
    {
        throw LarderError(.unimplemented, "acknowledging")
    }

    /// Takes batches out of the queue that the backend has refused or the application has
    /// cancelled, anywhere in the queue; one commit for all.
    ///
    /// Batches that are not in the queue are passed over.
    ///
    /// - Returns: every document that the batches name, once, in no particular order.
    package func reject(_ batchIDs: [Int64]) throws(LarderError) -> [LocalViewChange] {
        throw LarderError(.unimplemented, "rejecting")
    }

    /// Takes documents from a backend into the cache; one commit for all.
    ///
    /// An update that is older than what is known is ignored.
    ///
    /// - Parameters:
    ///   - updates: what the backend said.
    ///   - readTime: the snapshot that said it.
    /// - Returns: the documents whose cached state changed.
    package func applyRemoteDocuments(
        _ updates: [RemoteDocumentUpdate], readTime: SnapshotVersion
    ) throws(LarderError) -> [LocalViewChange] {
        throw LarderError(.unimplemented, "remote documents")
    }
}
