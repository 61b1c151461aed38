import CLarder
public import LarderModel

extension WriteTransaction {
    /// Defines an index, which from then on follows every write; where an equal one is there,
    /// nothing changes.
    ///
    /// It is complete at once when the group holds no documents; otherwise
    /// ``backfillIndex(_:maxDocuments:maxMicroseconds:)`` fills it.
    ///
    /// - Returns: the index's id.
    /// - Throws: `invalidArgument` for no fields or more than 16, or more than one
    ///   ``IndexDefinition/Segment/Kind/contains``.
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

    /// Puts further documents into an index, in one bounded step.
    ///
    /// - Parameters:
    ///   - id: the index.
    ///   - maxDocuments: documents to look at; 0 for no bound.
    ///   - maxMicroseconds: processor time to take; 0 for no bound.
    /// - Throws: `notFound` when there is no such index.
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
    /// From the first call on the index does not follow writes and cannot be scanned.
    ///
    /// - Parameters:
    ///   - id: the index.
    ///   - maxEntries: entries to remove in this call; 0 for all.
    /// - Returns: whether nothing is left of it.
    /// - Throws: `notFound` when there is no such index.
    public mutating func dropIndex(_ id: UInt32, maxEntries: Int64 = 0)
        throws(LarderError) -> Bool
    {
        let status = try call { larder_index_drop(writer, id, maxEntries, $0) }
        guard status != .notFound else { throw LarderError(status: status) }
        return status == .ok
    }
}
