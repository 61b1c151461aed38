import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// An index by its id; nil when there is none.
    public func index(_ id: UInt32) throws(LarderError) -> IndexInfo? {
        try index { larder_index_get(snapshot.reader, id, $0, $1) }
    }

    /// All indexes in order of their ids.
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
