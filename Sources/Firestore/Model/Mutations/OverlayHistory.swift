/// Facts about the pending writes of a document that make its local view.
///
/// With them a changed cached document needs only the first of many pending writes to be applied
/// again: see ``WorkingDocument/previousValues(unlike:using:)``.
package struct OverlayHistory: Sendable, Equatable {
    /// A field whose value is a pending server timestamp.
    package struct TimestampField: Sendable, Equatable {
        package let path: FieldPath
        /// The batch from which on every write of the field is a server timestamp.
        ///
        /// The previous value of the timestamp is the field's value before this batch.
        package internal(set) var firstBatchID: Int64
    }

    /// The last batch that changes the document; 0 for none.
    package var lastEffectID: Int64 = 0
    /// The last batch with an increment whose base value differs from the number in the document
    /// before the batch; 0 for none.
    ///
    /// The batches after it have the same effect whether or not their base values are used.
    package var lastRebaseID: Int64 = 0
    /// True if a batch has a precondition on the document's update time.
    package var hasVersionPreconditions = false
    /// The fields whose values in the view are pending server timestamps.
    package private(set) var timestamps: [TimestampField] = []

    /// Stands for the batch that is being written, until the queue has given it an ID.
    package static let nextBatchID = Int64.max

    package init() {}

    /// Replaces ``nextBatchID`` by the ID that the queue has given.
    package mutating func nameNextBatch(_ id: Int64) {
        if lastEffectID == Self.nextBatchID { lastEffectID = id }
        if lastRebaseID == Self.nextBatchID { lastRebaseID = id }
        for index in timestamps.indices where timestamps[index].firstBatchID == Self.nextBatchID {
            timestamps[index].firstBatchID = id
        }
    }

    /// Notes a mutation, before it is known whether its precondition holds.
    mutating func noteAttempt(_ mutation: Mutation) {
        if mutation.replacesAll {
            lastRebaseID = 0
            hasVersionPreconditions = false
        } else if case .updateTime = mutation.precondition {
            hasVersionPreconditions = true
        }
    }

    /// Notes that a mutation has changed the document, with the resulting fields.
    mutating func noteEffect(_ mutation: Mutation, of batchID: Int64, _ record: Record?) {
        lastEffectID = batchID
        let isTimestamped = mutation.transforms.contains { $0.operation == .serverTimestamp }
        guard isTimestamped || !timestamps.isEmpty else { return }
        let before = timestamps
        switch mutation.operation {
        case .verify: return
        case .set, .delete: timestamps = []
        case .patch(_, let mask):
            let written = mask.paths + mutation.transforms.map(\.path)
            timestamps.removeAll { field in
                written.contains { $0.isPrefix(of: field.path) }
                    || written.contains { field.path.isPrefix(of: $0) }
                        // A delete below what is no map leaves it.
                        && record?[field.path]?.type != .serverTimestamp
            }
        }
        for transform in mutation.transforms where transform.operation == .serverTimestamp {
            let known = before.first { $0.path == transform.path }
            timestamps.append(
                TimestampField(path: transform.path, firstBatchID: known?.firstBatchID ?? batchID))
        }
    }

    /// The history of the whole view, after the cached document has changed.
    ///
    /// - Parameters:
    ///   - first: the history of the batches that were applied again.
    ///   - last: the last of them; 0 for none.
    package func updated(by first: OverlayHistory, through last: Int64) -> OverlayHistory {
        var result = self
        if lastEffectID <= last { result.lastEffectID = first.lastEffectID }
        result.lastRebaseID = max(lastRebaseID > last ? lastRebaseID : 0, first.lastRebaseID)
        result.hasVersionPreconditions = hasVersionPreconditions || first.hasVersionPreconditions
        for (index, field) in timestamps.enumerated() where field.firstBatchID <= last {
            guard let known = first.timestamps.first(where: { $0.path == field.path }) else {
                continue
            }
            result.timestamps[index] = known
        }
        return result
    }
}

extension FieldPath {
    /// True if one of the paths leads to or through the other.
    package func overlaps(_ other: FieldPath) -> Bool {
        isPrefix(of: other) || other.isPrefix(of: self)
    }
}

// MARK: - Coding

/// The encoded history within an overlay's payload.
///
///     history      flags (1 byte: bit 0 version preconditions) | last effect | last rebase |
///                  count | field ...
///     field        field path | first batch
///
/// Batch IDs have 8 bytes, little-endian.
extension OverlayHistory {
    func write(to writer: inout PayloadWriter) {
        writer.byte(hasVersionPreconditions ? 1 : 0)
        writer.integer(lastEffectID)
        writer.integer(lastRebaseID)
        writer.count(timestamps.count)
        for field in timestamps {
            writer.path(field.path)
            writer.integer(field.firstBatchID)
        }
    }

    init(from reader: inout PayloadReader) throws(LarderError) {
        let flags = try reader.byte()
        guard flags <= 1 else { throw PayloadReader.damage("an unknown history") }
        hasVersionPreconditions = flags == 1
        lastEffectID = try reader.integer()
        lastRebaseID = try reader.integer()
        timestamps = try (0..<reader.count()).map { _ throws(LarderError) in
            let path = try reader.path()
            return TimestampField(path: path, firstBatchID: try reader.integer())
        }
    }
}

// MARK: - Comparing

extension WorkingDocument {
    /// The values that pending server timestamps have replaced, by the timestamps' paths.
    package typealias PreviousValues = [(path: FieldPath, value: Value?)]

    /// Compares two documents to which pending writes have been applied.
    ///
    /// The previous value of a pending server timestamp may differ: all later writes have the same
    /// effect on both documents, but for these values.
    ///
    /// - Returns: the previous values of this document that may differ, empty for equal documents;
    ///   nil if the documents differ in anything else.
    /// - Throws: an error of the record encoder.
    package func previousValues(unlike other: WorkingDocument, using builder: RecordBuilder)
        throws(LarderError) -> PreviousValues?
    {
        if isSame(as: other) { return [] }
        guard let record, let theirs = other.record else { return nil }
        return try timestamps(of: record, over: theirs, other, builder)
    }

    /// True if both have the same state, and the same encoded fields if they exist.
    package func isSame(as other: WorkingDocument) -> Bool {
        switch (state, other.state) {
        case (.nothing, .nothing), (.absent, .absent), (.unknown, .unknown): true
        case (.found(let record), .found(let theirs)): record.hasSameBytes(as: theirs)
        default: false
        }
    }

    private func timestamps(
        of record: Record, over theirs: Record, _ other: WorkingDocument, _ builder: RecordBuilder
    ) throws(LarderError) -> PreviousValues? {
        var result: PreviousValues = []
        for field in history?.timestamps ?? []
        where other.history?.timestamps.contains(where: { $0.path == field.path }) ?? false {
            guard case .serverTimestamp(let pending)? = record[field.path],
                case .serverTimestamp(let their)? = theirs[field.path],
                pending.localWriteTime == their.localWriteTime
            else { return nil }
            result.append((field.path, pending.previous))
        }
        guard !result.isEmpty else { return nil }
        let patched = try builder.patch(
            theirs, with: record, mask: FieldMask(result.map(\.path)))
        return patched.hasSameBytes(as: record) ? result : nil
    }
}

extension OverlayHistory {
    /// A view whose pending server timestamps have other previous values.
    ///
    /// - Parameters:
    ///   - values: the values before the first of the batches that were not applied again.
    ///   - last: the last batch that was applied again; 0 for none.
    package func view(
        _ view: Record, with values: WorkingDocument.PreviousValues, through last: Int64,
        using builder: RecordBuilder
    ) throws(LarderError) -> Record {
        var (map, paths) = (MapValue(), [FieldPath]())
        for (path, previous) in values {
            guard timestamps.contains(where: { $0.path == path && $0.firstBatchID <= last }),
                case .serverTimestamp(let pending)? = view[path]
            else { continue }
            let changed = PendingServerTimestamp(
                localWriteTime: pending.localWriteTime, previous: previous)
            map.set(.serverTimestamp(changed), at: path.segments[...])
            paths.append(path)
        }
        guard !paths.isEmpty else { return view }
        return try builder.patch(view, with: builder.encode(map), mask: FieldMask(paths))
    }
}
