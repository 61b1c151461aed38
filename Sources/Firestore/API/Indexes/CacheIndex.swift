import LarderModel
import LarderStorage

/// An index of the documents of a collection group, as it is asked for.
///
/// ```swift
/// try await db.setIndexes([
///     CacheIndex("cities", [.ascending("country"), .descending("population")])
/// ])
/// ```
public struct CacheIndex: Hashable, Sendable {
    /// One field of an index.
    public struct Field: Hashable, Sendable {
        /// How the field is in the index.
        public enum Order: Hashable, Sendable {
            /// Small values first.
            case ascending
            /// Large values first.
            case descending
            /// One entry for each element of an array, for `arrayContains`.
            case contains
        }

        /// The field.
        public let path: FieldPath
        /// How it is in the index.
        public let order: Order

        /// A field of an index.
        public init(_ path: FieldPath, _ order: Order) {
            self.path = path
            self.order = order
        }

        /// A field, named by a dotted path, small values first.
        public static func ascending(_ field: String) -> Field { Field(field, .ascending) }

        /// A field, named by a dotted path, large values first.
        public static func descending(_ field: String) -> Field { Field(field, .descending) }

        /// A field, named by a dotted path, with one entry for each element of an array.
        public static func contains(_ field: String) -> Field { Field(field, .contains) }

        private init(_ field: String, _ order: Order) {
            self.init(
                FieldPath(
                    field.split(separator: ".", omittingEmptySubsequences: false).map(String.init)),
                order)
        }
    }

    /// The collections' id.
    public let collectionGroup: String

    /// The fields, 1 to 16, at most one of them ``Field/Order/contains``.
    public let fields: [Field]

    /// An index of a collection group.
    public init(_ collectionGroup: String, _ fields: [Field]) {
        self.collectionGroup = collectionGroup
        self.fields = fields
    }

    /// The index in the store's terms.
    var definition: IndexDefinition {
        get throws(LarderError) {
            var segments: [IndexDefinition.Segment] = []
            for field in fields {
                segments.append(.init(try field.path.resolved(), field.order.kind))
            }
            return IndexDefinition(collectionGroup: collectionGroup, segments: segments)
        }
    }
}

extension CacheIndex.Field.Order {
    fileprivate var kind: IndexDefinition.Segment.Kind {
        switch self {
        case .ascending: .ascending
        case .descending: .descending
        case .contains: .contains
        }
    }

    fileprivate init(_ kind: IndexDefinition.Segment.Kind) {
        switch kind {
        case .ascending: self = .ascending
        case .descending: self = .descending
        case .contains: self = .contains
        }
    }
}

extension CacheIndex {
    init(_ definition: IndexDefinition) {
        self.init(
            definition.collectionGroup,
            definition.segments.map { Field(FieldPath($0.path.segments), .init($0.kind)) })
    }
}

/// An index as it is in the cache.
public struct CacheIndexState: Hashable, Sendable {
    /// What it orders by.
    public let index: CacheIndex
    /// Whether every document is in it; only then queries use it.
    public let isComplete: Bool
    /// Its entries.
    public let entryCount: Int64
    /// What they occupy, in bytes.
    public let sizeBytes: Int64

    init(_ info: IndexInfo) {
        index = CacheIndex(info.definition)
        isComplete = info.isComplete
        entryCount = info.entryCount
        sizeBytes = info.sizeBytes
    }
}
