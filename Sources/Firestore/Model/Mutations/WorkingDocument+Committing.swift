/// The backend's application of a mutation to a document.
extension WorkingDocument {
    /// Applies a mutation whose precondition holds, as the committing backend.
    ///
    /// Transforms follow the set or patch in order, each applied to the result of the previous. A
    /// write that changes no field leaves the document's version unchanged, and that version is the
    /// result's.
    ///
    /// - Parameters:
    ///   - mutation: the mutation.
    ///   - version: the version of the commit; server timestamps are its time in milliseconds,
    ///     rounded down.
    ///   - builder: encodes changed values.
    /// - Returns: the backend's result; null for array transforms, which clients apply themselves.
    /// - Throws: `invalidArgument` if maps become nested too deep for a record.
    package mutating func commit(
        _ mutation: Mutation, at version: SnapshotVersion, using builder: RecordBuilder
    ) throws(LarderError) -> MutationResult {
        var record: Record
        switch mutation.operation {
        case .verify: return MutationResult(version: isFound ? self.version : version)
        case .delete:
            guard isFound else { return MutationResult(version: version) }
            become(.absent, at: version)
            createTime = nil
            return MutationResult(version: version)
        case .set(let fields): record = fields
        case .patch(let fields, let mask):
            record = try builder.patch(self.record, with: fields, mask: mask)
        }
        var results: [Value] = []
        for transform in mutation.transforms {
            let value = transform.operation.committedValue(
                over: record[transform.path], at: version.timestamp.milliseconds)
            record = try builder.patch(
                record, with: builder.encode(MapValue(at: transform.path, value)),
                mask: FieldMask([transform.path]))
            results.append(transform.operation.isOfArray ? .null : value)
        }
        if !(self.record?.hasSameBytes(as: record) ?? false) {
            if !isFound { createTime = version.timestamp }
            become(.found(record), at: version)
        }
        return MutationResult(version: self.version, transformResults: results)
    }

    private mutating func become(_ state: State, at version: SnapshotVersion) {
        self.state = state
        self.version = version
    }
}

extension FieldTransform.Operation {
    /// The committed value of a field.
    ///
    /// - Parameters:
    ///   - previous: the field's value; nil if it is missing.
    ///   - commitTime: the time of the commit, in milliseconds.
    fileprivate func committedValue(over previous: Value?, at commitTime: Timestamp) -> Value {
        if case .serverTimestamp = self { return .timestamp(commitTime) }
        return estimate(from: previous, localWriteTime: commitTime)
    }

    fileprivate var isOfArray: Bool {
        switch self {
        case .arrayUnion, .arrayRemove: true
        case .serverTimestamp, .increment, .minimum, .maximum: false
        }
    }
}

extension Timestamp {
    /// The time rounded down to milliseconds.
    fileprivate var milliseconds: Timestamp {
        Timestamp(seconds: seconds, nanoseconds: nanoseconds - nanoseconds % 1_000_000)
    }
}

extension MapValue {
    /// Nested maps that contain one value at a path.
    fileprivate init(at path: FieldPath, _ value: Value) {
        self.init()
        set(value, at: path.segments[...])
    }
}
