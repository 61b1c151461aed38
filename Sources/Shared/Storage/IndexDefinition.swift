public import LarderModel

/// What an index orders the documents of a collection group by.
public struct IndexDefinition: Hashable, Sendable {
    /// One field of an index.
    public struct Segment: Hashable, Sendable {
        /// How a field is in an index.
        public enum Kind: Int32, Hashable, Sendable {
            /// Smaller values first.
            case ascending = 0
            /// Larger values first.
            case descending = 1
            /// One entry for each element of an array.
            case contains = 2
        }

        /// The field.
        public let path: FieldPath
        /// How it is in the index.
        public let kind: Kind

        /// A field of an index.
        public init(_ path: FieldPath, _ kind: Kind = .ascending) {
            self.path = path
            self.kind = kind
        }
    }

    /// The collections' id.
    public let collectionGroup: String

    /// The fields, 1 to 16, at most one of them ``Segment/Kind/contains``.
    public let segments: [Segment]

    /// An index of a collection group.
    public init(collectionGroup: String, segments: [Segment]) {
        self.collectionGroup = collectionGroup
        self.segments = segments
    }

    /// How many fields an index has at most.
    public static let maxSegments = 16
}

/// An index as it is in the store.
public struct IndexInfo: Hashable, Sendable {
    /// The index's id, above 0.
    public let id: UInt32
    /// What it orders by.
    public let definition: IndexDefinition
    /// Its entries.
    public let entryCount: Int64
    /// What they occupy, in bytes.
    public let sizeBytes: Int64
    /// Whether every document is in it; only then may queries use it.
    public let isComplete: Bool
    /// Documents that filling it has looked at.
    public let backfilledCount: Int64
}

/// How far filling an index has come.
public struct BackfillProgress: Hashable, Sendable {
    /// Whether every document is in the index.
    public let isComplete: Bool
    /// Documents looked at so far.
    public let doneCount: Int64
    /// Documents to look at in all.
    public let totalCount: Int64
}
