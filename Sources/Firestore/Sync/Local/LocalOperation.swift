/// What a call of the local store does: names for logs, and for tests that make the disk fail.
///
/// The raw values are those of Firestore's specification tests.
package enum LocalOperation: String, Sendable, Hashable, CaseIterable {
    /// A target is found or made.
    case allocateTarget = "Allocate target"
    /// What a backend has told is taken in.
    case applyRemoteEvent = "Apply remote event"
    /// What is known of a target without listeners is saved.
    case releaseTarget = "Release target"
    /// Writes enter the queue.
    case writeMutations = "Locally write mutations"
    /// Committed batches leave the queue.
    case acknowledgeBatch = "Acknowledge batch"
    /// Refused or cancelled batches leave the queue.
    case rejectBatch = "Reject batch"
    /// Another user's queue takes the place of the present one.
    case changeUser = "Handle user change"
    /// The last snapshot is looked up.
    case readSnapshotVersion = "Get last remote snapshot version"
    /// The documents of a batch are looked up.
    case readBatchDocuments = "Lookup mutation documents"
    /// A target is looked up.
    case readTarget = "Get target data"
    /// What other processes have changed is looked up.
    case readNewChanges = "Get new document changes"
    /// A part of a bundle is taken in.
    case loadBundle = "Load bundle"
    /// The lease of the network is renewed.
    case renewLease = "updateClientMetadataAndTryBecomePrimary"
}
