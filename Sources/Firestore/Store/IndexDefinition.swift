import CLarder
public import LarderModel
public import LarderStorage

/// The fields by which an index orders the documents of a collection group.
public struct IndexDefinition: Hashable, Sendable {
    /// One field of an index.
    public struct Segment: Hashable, Sendable {
        /// The kind of a field in an index.
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
        /// The kind of the field in the index.
        public let kind: Kind

        /// A field of an index.
        public init(_ path: FieldPath, _ kind: Kind = .ascending) {
            self.path = path
            self.kind = kind
        }
    }

    /// The collection ID.
    public let collectionGroup: String

    /// The fields, 1 to 16, at most one of them ``Segment/Kind/contains``.
    public let segments: [Segment]

    /// An index of a collection group.
    public init(collectionGroup: String, segments: [Segment]) {
        self.collectionGroup = collectionGroup
        self.segments = segments
    }

    /// The maximum number of fields of an index.
    public static let maxSegments = 16
}

/// An index in the store.
public struct IndexInfo: Hashable, Sendable {
    /// The index ID, above 0.
    public let id: UInt32
    /// The definition.
    public let definition: IndexDefinition
    /// The number of entries.
    public let entryCount: Int64
    /// The storage occupied by the entries, in bytes.
    public let sizeBytes: Int64
    /// True if the index contains every document, so that queries may use it.
    public let isComplete: Bool
    /// The number of documents that backfilling has examined.
    public let backfilledCount: Int64
}

/// The progress of backfilling an index.
public struct BackfillProgress: Hashable, Sendable {
    /// True if every document is in the index.
    public let isComplete: Bool
    /// The number of documents examined so far.
    public let doneCount: Int64
    /// The number of documents to examine in total.
    public let totalCount: Int64
}

extension ReadableTransaction where Self: ~Copyable {
    /// An index by ID; nil if there is none.
    public func index(_ id: UInt32) throws(LarderError) -> IndexInfo? {
        try index { larder_index_get(snapshot.reader, id, $0, $1) }
    }

    /// All indexes in order of their IDs.
    public func indexes() throws(LarderError) -> [IndexInfo] {
        var indexes: [IndexInfo] = []
        while let next = try index({
            larder_index_next(snapshot.reader, indexes.last?.id ?? 0, $0, $1)
        }) {
            indexes.append(next)
        }
        return indexes
    }

    private func index(
        _ get: (UnsafeMutablePointer<larder_index>, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) -> IndexInfo? {
        var index = larder_index()
        let status = try call { get(&index, $0) }
        return status == .ok ? try IndexInfo(index) : nil
    }
}

extension IndexInfo {
    fileprivate init(_ index: larder_index) throws(LarderError) {
        let segments = withUnsafeBytes(of: index.segments) { bytes in
            bytes.bindMemory(to: larder_index_segment.self)
                .prefix(Int(index.segment_count))
                .compactMap { segment -> IndexDefinition.Segment? in
                    guard let path = FieldPath(encoded: segment.field_path.buffer),
                        let kind = IndexDefinition.Segment.Kind(rawValue: segment.kind)
                    else { return nil }
                    return IndexDefinition.Segment(path, kind)
                }
        }
        guard segments.count == Int(index.segment_count) else {
            throw LarderError(status: .corrupt)
        }
        self.init(
            id: index.index_id,
            definition: IndexDefinition(
                collectionGroup: index.group.text, segments: segments),
            entryCount: index.entry_count, sizeBytes: index.size_bytes,
            isComplete: index.complete != 0, backfilledCount: index.backfilled_count)
    }
}

extension WriteTransaction {
    /// Defines an index, which is maintained by all later writes; an equal existing index is kept.
    ///
    /// It is complete immediately if the group has no documents; otherwise
    /// ``backfillIndex(_:maxDocuments:maxMicroseconds:)`` completes it.
    ///
    /// - Returns: the index ID.
    /// - Throws: `invalidArgument` for no fields or more than 16, or more than one
    ///   `IndexDefinition.Segment.Kind.contains`.
    public mutating func defineIndex(_ definition: IndexDefinition) throws(LarderError) -> UInt32 {
        guard definition.segments.count <= IndexDefinition.maxSegments else {
            throw .invalidArgument(
                "an index has at most \(IndexDefinition.maxSegments) fields, this one "
                    + "\(definition.segments.count)")
        }
        var id: UInt32 = 0
        let paths = definition.segments.map(\.path.encoded)
        let joined = paths.flatMap { $0 }
        let writer = writer
        try call { failure in
            joined.withUnsafeBytes { bytes in
                var start = 0
                var segments: [larder_index_segment] = []
                for (segment, path) in zip(definition.segments, paths) {
                    let path = UnsafeRawBufferPointer(rebasing: bytes[start..<start + path.count])
                    start += path.count
                    segments.append(
                        larder_index_segment(
                            field_path: larder_bytes(path), kind: segment.kind.rawValue,
                            reserved: 0))
                }
                return withBytes(definition.collectionGroup) {
                    larder_index_define(writer, $0, segments, segments.count, &id, failure)
                }
            }
        }
        return id
    }

    /// Adds further documents to an index, in one bounded step.
    ///
    /// - Parameters:
    ///   - id: the index.
    ///   - maxDocuments: the number of documents to examine; 0 for no limit.
    ///   - maxMicroseconds: the processor time to spend; 0 for no limit.
    /// - Throws: `notFound` if there is no such index.
    public mutating func backfillIndex(
        _ id: UInt32, maxDocuments: Int64 = 0, maxMicroseconds: Int64 = 0
    ) throws(LarderError) -> BackfillProgress {
        var (done, total) = (Int64(0), Int64(0))
        let status = try call {
            larder_index_backfill(writer, id, maxDocuments, maxMicroseconds, &done, &total, $0)
        }
        guard status != .notFound else { throw LarderError(status: status) }
        return BackfillProgress(isComplete: status == .ok, doneCount: done, totalCount: total)
    }

    /// Removes an index, or up to a number of its entries.
    ///
    /// After the first call the index is no longer maintained and cannot be scanned.
    ///
    /// - Parameters:
    ///   - id: the index.
    ///   - maxEntries: the number of entries to remove in this call; 0 for all.
    /// - Returns: true if it is removed completely.
    /// - Throws: `notFound` if there is no such index.
    public mutating func dropIndex(_ id: UInt32, maxEntries: Int64 = 0)
        throws(LarderError) -> Bool
    {
        let status = try call { larder_index_drop(writer, id, maxEntries, $0) }
        guard status != .notFound else { throw LarderError(status: status) }
        return status == .ok
    }
}
