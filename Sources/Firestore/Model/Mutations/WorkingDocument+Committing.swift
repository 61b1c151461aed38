/// The backend's application of a mutation to a document.
extension WorkingDocument {
    /// Applies a mutation whose precondition holds, as the backend that commits it.
    ///
    /// Transforms come after the set or patch, one after the other, each over what those before
    /// it left. A write that leaves every field as it was is no change: the document keeps its
    /// version, which is the result's.
    ///
    /// - Parameters:
    ///   - mutation: the mutation.
    ///   - version: the version of the commit, which is the server timestamp, too.
    ///   - builder: encodes what changes.
    /// - Returns: the backend's result; null for an array transform, which clients apply
    ///   themselves.
    /// - Throws: `invalidArgument` where maps become nested beyond what a record can hold.
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
                over: record[transform.path], at: version.timestamp)
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
    /// The value that a backend gives a field.
    ///
    /// - Parameters:
    ///   - previous: the field's value; nil if it is missing.
    ///   - commitTime: the time of the commit.
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

extension MapValue {
    /// Maps that lead to one value.
    fileprivate init(at path: FieldPath, _ value: Value) {
        self.init()
        set(value, at: path.segments[...])
    }
}

extension Record {
    /// True if both are the same fields, the types of numbers included.
    fileprivate func hasSameBytes(as other: Record) -> Bool {
        withUnsafeBytes { left in
            other.withUnsafeBytes { !left.isEmpty && left.elementsEqual($0) }
        }
    }
}
