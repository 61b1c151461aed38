public import LarderModel

/// One change of a storage, in words that every implementation has.
public enum StorageOperation: Sendable {
    /// Writes a document that exists, read at its version.
    case put(DocumentPath, MapValue, version: SnapshotVersion)
    /// Notes that a document does not exist.
    case putAbsent(DocumentPath, version: SnapshotVersion)
    /// Notes that a document exists with unknown contents.
    case putUnknown(DocumentPath, version: SnapshotVersion)
    /// Forgets a document; answers whether anything was known of it.
    case remove(DocumentPath)
    /// Appends a batch; answers its id.
    case append(user: String, [DocumentPath], payload: [UInt8])
    /// Removes a batch; answers whether it was there.
    case removeBatch(user: String, Int64)
    /// Counts an attempt to send a batch; answers whether it was there.
    case recordAttempt(user: String, Int64, failure: String)
    /// Keeps a local view; nil fields for one that is deleted.
    case putOverlay(user: String, DocumentPath, MapValue?, batch: Int64)
    /// Removes a local view; answers whether there was one.
    case removeOverlay(user: String, DocumentPath)
    /// Removes the local views saved under a batch; answers how many there were.
    case removeOverlays(user: String, batch: Int64)
    /// Adds or replaces a target.
    case putTarget(Int32, canonicalID: String)
    /// Removes a target; answers whether it was there.
    case removeTarget(Int32)
    /// Puts a document into a target; answers whether the target was there.
    case addToTarget(Int32, DocumentPath)
    /// Takes a document out of a target; answers whether it was in it.
    case removeFromTarget(Int32, DocumentPath)
}

/// What an operation answers: an id, a count, or 0 and 1 for no and yes; 0 where it has nothing
/// to say.
public typealias StorageAnswer = Int64
