extension WorkingDocument {
    /// Applies a mutation that waits for the backend.
    ///
    /// A mutation whose precondition does not hold changes nothing. Transforms see the document
    /// as it is before the mutation, and their values win over those of a set or patch.
    ///
    /// - Throws: `invalidArgument` where maps become nested beyond what a record can hold.
    package mutating func apply(
        _ mutation: Mutation, localWriteTime: Timestamp, using builder: RecordBuilder
    ) throws(LarderError) {
        dependsOnContents =
            !mutation.replacesAll && (dependsOnContents || mutation.dependsOnContents)
        guard satisfies(mutation.precondition) else { return }
        switch mutation.operation {
        case .verify: return
        case .delete:
            state = .absent
            changes = .whole
        case .set(let record):
            state = .found(
                try mutation.transforms.isEmpty
                    ? record : write(record, nil, mutation, localWriteTime, builder))
            changes = .whole
        case .patch(let record, let mask):
            state = .found(try write(record, mask, mutation, localWriteTime, builder))
            if case .fields(var paths) = changes {
                changes = .whole  // lets go of the paths, which then grow in place
                paths += mask.paths
                paths += mutation.transforms.lazy.map(\.path)
                changes = .fields(paths)
            }
        }
        version = .none
        createTime = nil
        hasLocalMutations = true
        hasCommittedMutations = false
    }

    /// Applies a mutation that the backend has committed to the cached document.
    ///
    /// A patch whose precondition does not hold of what is cached leaves a document with unknown
    /// fields: the backend has found another one than is known here.
    ///
    /// - Throws: `internal` where the backend's values do not fit the mutation's transforms.
    package mutating func apply(
        _ mutation: Mutation, committedAs result: MutationResult, using builder: RecordBuilder
    ) throws(LarderError) {
        try mutation.checkFits(result)
        let wasFound = isFound
        switch mutation.operation {
        case .verify: return
        case .delete: state = .absent
        case .set(let record):
            state = .found(
                try mutation.transforms.isEmpty
                    ? record : write(record, nil, mutation, result, builder))
        case .patch(let record, let mask):
            state =
                try satisfies(mutation.precondition)
                ? .found(write(record, mask, mutation, result, builder)) : .unknown
        }
        version = result.version
        if !wasFound || !isFound { createTime = nil }
        hasCommittedMutations = true
    }

    private func write(
        _ source: Record, _ mask: FieldMask?, _ mutation: Mutation, _ localWriteTime: Timestamp,
        _ builder: RecordBuilder
    ) throws(LarderError) -> Record {
        let values = mutation.transforms.map { transform in
            transform.operation.estimate(
                from: record?[transform.path], localWriteTime: localWriteTime)
        }
        return try write(source, mask, mutation.transforms, values, builder)
    }

    private func write(
        _ source: Record, _ mask: FieldMask?, _ mutation: Mutation, _ result: MutationResult,
        _ builder: RecordBuilder
    ) throws(LarderError) -> Record {
        let values = zip(mutation.transforms, result.transformResults).map { transform, value in
            transform.operation.committed(over: record?[transform.path], serverValue: value)
        }
        return try write(source, mask, mutation.transforms, values, builder)
    }

    /// The source, or this document with the source's values at the mask, and in either the
    /// transforms' values.
    private func write(
        _ source: Record, _ mask: FieldMask?, _ transforms: [FieldTransform], _ values: [Value],
        _ builder: RecordBuilder
    ) throws(LarderError) -> Record {
        var (source, mask) = (source, mask)
        if !transforms.isEmpty {
            var map = MapValue()
            for (transform, value) in zip(transforms, values) {
                map.set(value, at: transform.path.segments[...])
            }
            let paths = transforms.map(\.path)
            source = try builder.patch(
                source, with: builder.encode(map), mask: FieldMask(paths))
            mask = mask.map { FieldMask($0.paths + paths) }
        }
        guard let mask else { return source }
        return try builder.patch(record, with: source, mask: mask)
    }
}

extension MapValue {
    /// Sets the value at a path; maps on the way are made.
    mutating func set(_ value: Value, at names: ArraySlice<String>) {
        guard let name = names.first else { return }
        guard names.count > 1 else {
            self[name] = value
            return
        }
        var inner = MapValue()
        if case .map(let present)? = self[name] { inner = present }
        inner.set(value, at: names.dropFirst())
        self[name] = .map(inner)
    }
}
