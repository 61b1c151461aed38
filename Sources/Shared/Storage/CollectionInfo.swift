public import LarderModel

/// What the store holds of one collection.
public struct CollectionInfo: Hashable, Sendable {
    /// The collection.
    public let path: CollectionPath

    /// Found documents directly in it.
    public let documentCount: Int64

    /// What the rows of its documents occupy, in bytes.
    public let sizeBytes: Int64
}
