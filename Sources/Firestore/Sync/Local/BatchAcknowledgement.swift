package import LarderModel

/// The backend's word that it has committed a batch.
package struct BatchAcknowledgement: Sendable {
    /// The batch.
    package let batchID: Int64
    /// When the backend committed it.
    package let commitVersion: SnapshotVersion
    /// What each mutation did, in the order of the batch.
    package let results: [MutationResult]

    /// A batch that the backend has committed.
    package init(batchID: Int64, commitVersion: SnapshotVersion, results: [MutationResult]) {
        self.batchID = batchID
        self.commitVersion = commitVersion
        self.results = results
    }
}
