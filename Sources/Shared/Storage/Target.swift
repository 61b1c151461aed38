public import LarderModel

/// A query that is, or was, listened to, with what the backend said about it.
public struct Target: Hashable, Sendable {
    /// The target's id, above 0.
    public var id: Int32
    /// The query, in the caller's encoding.
    public var query: [UInt8]
    /// Text that equal targets share; different ones may share it, too.
    public var canonicalID: String
    /// What resumes the stream, in the backend's encoding.
    public var resumeToken: [UInt8]
    /// The snapshot that the token is from.
    public var snapshotVersion: SnapshotVersion
    /// The last snapshot at which no document of the target was in limbo.
    public var limboFreeVersion: SnapshotVersion
    /// The caller's number; larger is more recently used.
    public var sequenceNumber: Int64
    /// The caller's flags.
    public var flags: UInt32

    /// A target that the backend has said nothing about.
    public init(
        id: Int32, query: [UInt8], canonicalID: String, resumeToken: [UInt8] = [],
        snapshotVersion: SnapshotVersion = .none, limboFreeVersion: SnapshotVersion = .none,
        sequenceNumber: Int64 = 0, flags: UInt32 = 0
    ) {
        self.id = id
        self.query = query
        self.canonicalID = canonicalID
        self.resumeToken = resumeToken
        self.snapshotVersion = snapshotVersion
        self.limboFreeVersion = limboFreeVersion
        self.sequenceNumber = sequenceNumber
        self.flags = flags
    }
}
