package import LarderModel

/// What a bundle says of itself, before anything else.
package struct BundleMetadata: Sendable, Equatable {
    /// The bundle's id, 1 to 1,500 bytes.
    package let id: String
    /// When it was made: a newer one takes the place of an older one with its id.
    package let createTime: SnapshotVersion
    /// The version of the format: 1.
    package let version: Int
    /// The number of documents in it.
    package let totalDocuments: Int
    /// The number of bytes behind this element.
    package let totalBytes: Int64
    static let knownVersion: Int64 = 1

    /// What the id of a bundle, or the name of a query in it, may come to.
    package static let maxNameBytes = 1500

    /// What a bundle says of itself.
    package init(
        id: String, createTime: SnapshotVersion, version: Int, totalDocuments: Int,
        totalBytes: Int64
    ) {
        self.id = id
        self.createTime = createTime
        self.version = version
        self.totalDocuments = totalDocuments
        self.totalBytes = totalBytes
    }
}
