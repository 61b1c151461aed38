/// A document in the store at one point in time.
///
/// A value, independent of later changes of the store. Fields are decoded on access.
public struct Document: Sendable, Equatable {
    /// The state of a document in the store.
    public enum State: Int32, Hashable, Sendable {
        /// Not read, because the scan reads only names.
        case notRead = 0
        /// The document exists.
        case found = 1
        /// The document is known not to exist.
        case absent = 2
        /// The document exists at a version, with unknown contents.
        case unknown = 3
    }

    /// The document's path.
    public let path: DocumentPath

    /// The state of the document.
    public let state: State

    /// The fields of a found document; nil for the other states.
    public let record: Record?

    /// The version of the contents or of the knowledge of absence; ``SnapshotVersion/none``
    /// with ``hasLocalMutations``.
    public let version: SnapshotVersion

    /// The create time of the document; nil if unknown.
    public let createTime: Timestamp?

    /// The snapshot at which the store read this state.
    public let readTime: SnapshotVersion

    /// True if the state is a local view that includes pending writes.
    public let hasLocalMutations: Bool

    /// True if the state is the result of an acknowledged write that the watch stream has not
    /// confirmed yet.
    public let hasCommittedMutations: Bool

    /// The largest pending batch that touches the document with ``hasLocalMutations``, otherwise 0.
    public let largestBatchID: Int64

    /// The space that its row occupies in the store, in bytes.
    public let storedBytes: Int64

    package init(
        path: DocumentPath, state: State, record: Record?, version: SnapshotVersion,
        createTime: Timestamp?, readTime: SnapshotVersion, hasLocalMutations: Bool,
        hasCommittedMutations: Bool, largestBatchID: Int64, storedBytes: Int64
    ) {
        self.path = path
        self.state = state
        self.record = record
        self.version = version
        self.createTime = createTime
        self.readTime = readTime
        self.hasLocalMutations = hasLocalMutations
        self.hasCommittedMutations = hasCommittedMutations
        self.largestBatchID = largestBatchID
        self.storedBytes = storedBytes
    }

    /// The document ID.
    public var id: String { path.id }

    /// True if the document is known to exist with its contents.
    public var exists: Bool { state == .found }

    /// True if the state includes local writes that the backend has not confirmed.
    public var hasPendingWrites: Bool { hasLocalMutations || hasCommittedMutations }

    /// All fields, decoded; empty unless the document is found.
    public var fields: MapValue { record?.fields ?? MapValue() }

    /// The value at a field path; nil if there is none.
    public subscript(path: FieldPath) -> Value? { record?[path] }

    /// The value at a dotted path such as `stats.area`; nil if there is none.
    ///
    /// - Throws: `invalidArgument` for text that ``FieldPath/init(dotted:)`` rejects.
    public func value(at path: String) throws(LarderError) -> Value? {
        self[try FieldPath(dotted: path)]
    }

    /// This document with only the fields that a mask names.
    ///
    /// - Throws: `dataLoss` for a damaged record.
    package func selecting(_ mask: FieldMask, using builder: RecordBuilder)
        throws(LarderError) -> Document
    {
        Document(
            path: path, state: state,
            record: try record.map { (record) throws(LarderError) in
                try builder.select(mask, of: record)
            },
            version: version, createTime: createTime, readTime: readTime,
            hasLocalMutations: hasLocalMutations, hasCommittedMutations: hasCommittedMutations,
            largestBatchID: largestBatchID, storedBytes: storedBytes)
    }

    /// Firestore's equality of documents: path, state, version, flags and fields, but not the read
    /// time.
    public static func == (left: Document, right: Document) -> Bool {
        left.path == right.path && left.state == right.state && left.version == right.version
            && left.hasLocalMutations == right.hasLocalMutations
            && left.hasCommittedMutations == right.hasCommittedMutations
            && left.record == right.record
    }
}
