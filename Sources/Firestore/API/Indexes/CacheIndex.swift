import LarderDocumentStore
import LarderModel

/// The definition of an index on a collection group.
///
/// ```swift
/// try await db.setIndexes([
///     CacheIndex("cities", [.ascending("country"), .descending("population")])
/// ])
/// ```
public struct CacheIndex: Hashable, Sendable {
    /// One field of an index.
    public struct Field: Hashable, Sendable {
        /// The kind of an index field.
        public enum Order: Hashable, Sendable {
            /// Ascending.
            case ascending
            /// Descending.
            case descending
            /// One entry per array element, for `arrayContains`.
            case contains
        }

        /// The field.
        public let path: FieldPath
        /// The kind of the field.
        public let order: Order

        /// Creates an index field.
        public init(_ path: FieldPath, _ order: Order) {
            self.path = path
            self.order = order
        }

        /// An ascending field, given by a dotted path.
        public static func ascending(_ field: String) -> Field { Field(field, .ascending) }

        /// A descending field, given by a dotted path.
        public static func descending(_ field: String) -> Field { Field(field, .descending) }

        /// A field, given by a dotted path, with one entry per array element.
        public static func contains(_ field: String) -> Field { Field(field, .contains) }

        private init(_ field: String, _ order: Order) {
            self.init(
                FieldPath(
                    field.split(separator: ".", omittingEmptySubsequences: false).map(String.init)),
                order)
        }
    }

    /// The collection ID.
    public let collectionGroup: String

    /// The 1 to 16 fields, at most one of which is ``Field/Order/contains``.
    public let fields: [Field]

    /// Creates an index on a collection group.
    public init(_ collectionGroup: String, _ fields: [Field]) {
        self.collectionGroup = collectionGroup
        self.fields = fields
    }

    var definition: IndexDefinition {
        get throws(LarderError) {
            IndexDefinition(
                collectionGroup: collectionGroup,
                segments: try fields.map { field throws(LarderError) in
                    .init(try field.path.resolved(), field.order.kind)
                })
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

extension CacheIndex: CustomStringConvertible {
    /// The index on one line, as in the plans of ``Query/explain()``:
    /// `cities(country ASC, tags CONTAINS)`.
    public var description: String {
        "\(collectionGroup)(\(fields.map(\.description).joined(separator: ", ")))"
    }
}

extension CacheIndex.Field: CustomStringConvertible {
    /// The path and the kind: `country ASC`.
    public var description: String {
        switch order {
        case .ascending: "\(path) ASC"
        case .descending: "\(path) DESC"
        case .contains: "\(path) CONTAINS"
        }
    }
}

/// The state of an index in the cache.
public struct CacheIndexState: Hashable, Sendable {
    /// The index definition.
    public let index: CacheIndex
    /// Whether all documents are indexed; queries use only complete indexes.
    public let isComplete: Bool
    /// The number of entries.
    public let entryCount: Int64
    /// The size of the entries in bytes.
    public let sizeBytes: Int64

    init(_ info: IndexInfo) {
        index = CacheIndex(info.definition)
        isComplete = info.isComplete
        entryCount = info.entryCount
        sizeBytes = info.sizeBytes
    }
}

extension CacheIndexState: CustomStringConvertible {
    /// The index, whether it is complete, and its size, on one line.
    public var description: String {
        let entries = entryCount == 1 ? "1 entry" : "\(entryCount) entries"
        let bytes = sizeBytes == 1 ? "1 byte" : "\(sizeBytes) bytes"
        return "\(index): \(isComplete ? "complete" : "incomplete"), \(entries), \(bytes)"
    }
}
