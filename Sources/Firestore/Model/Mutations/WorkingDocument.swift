/// A document to which mutations are applied one after the other.
package struct WorkingDocument: Sendable {
    /// The state of the document in the store.
    package enum State: Sendable {
        case nothing
        case found(Record)
        case absent
        /// The document exists with unknown fields.
        case unknown
    }

    /// The part of a document that pending writes determine.
    package enum LocalChanges: Sendable {
        case whole
        /// The values at these paths, in any order and possibly repeated.
        case fields([FieldPath])
    }

    package internal(set) var state: State
    /// The version of the known state; none with pending writes.
    package internal(set) var version: SnapshotVersion
    package internal(set) var createTime: Timestamp?
    /// Whether the state includes pending writes.
    package internal(set) var hasLocalMutations: Bool
    /// Whether the state includes acknowledged writes that the watch stream has not confirmed.
    package internal(set) var hasCommittedMutations: Bool
    /// The part that pending writes have determined so far.
    package internal(set) var changes = LocalChanges.fields([])
    /// The version in the cache; none for a document known only as a view.
    package let cachedVersion: SnapshotVersion
    /// Whether the effect of the pending writes depends on the underlying document beyond its
    /// existence.
    package internal(set) var dependsOnContents = false
    /// Facts about the pending writes that were applied; nil if unknown.
    package var history: OverlayHistory? = OverlayHistory()

    /// Starts from a cached document; nil if nothing is known of it.
    ///
    /// - Parameter dependsOnContents: true if pending writes of it have no effect, but may have one
    ///   on another version.
    package init(_ cached: Document?, dependsOnContents: Bool = false) {
        state = State(cached)
        version = cached?.version ?? .none
        cachedVersion = version
        createTime = cached?.createTime
        hasLocalMutations = cached?.hasLocalMutations ?? false
        hasCommittedMutations = cached?.hasCommittedMutations ?? false
        self.dependsOnContents = dependsOnContents
        if dependsOnContents { history = nil }
    }

    /// Starts from the local view of earlier pending writes.
    package init(view: Document, madeBy overlay: OverlayMutation) {
        self.init(view)
        dependsOnContents = overlay.dependsOnContents
        history = overlay.history
        changes =
            switch overlay.operation {
            case .set, .delete: .whole
            case .patch(let mask): .fields(mask.paths)
            }
    }

    /// Starts from a backend's document.
    package init(state: State, version: SnapshotVersion, createTime: Timestamp? = nil) {
        self.state = state
        self.version = version
        cachedVersion = version
        self.createTime = createTime
        hasLocalMutations = false
        hasCommittedMutations = false
    }

    package var record: Record? {
        if case .found(let record) = state { record } else { nil }
    }

    package var isFound: Bool { record != nil }

    /// Whether a precondition holds for the current state.
    package func satisfies(_ precondition: Precondition) -> Bool {
        switch precondition {
        case .none: true
        case .exists(let exists): exists == isFound
        case .updateTime(let version): isFound && version == self.version
        }
    }

    /// The document as a value; nil if nothing is known of it.
    ///
    /// - Parameters:
    ///   - readTime: the cache's read time; ignored for a document with pending writes.
    ///   - batchID: for a document with pending writes, the last batch that touches it.
    package func document(
        at path: DocumentPath, readTime: SnapshotVersion, largestBatchID batchID: Int64 = 0
    ) -> Document? {
        let known: Document.State
        switch state {
        case .nothing: return nil
        case .found: known = .found
        case .absent: known = .absent
        case .unknown: known = .unknown
        }
        return Document(
            path: path, state: known, record: record, version: version,
            createTime: createTime,
            readTime: hasLocalMutations ? .none : readTime,
            hasLocalMutations: hasLocalMutations, hasCommittedMutations: hasCommittedMutations,
            largestBatchID: hasLocalMutations ? batchID : 0, storedBytes: 0)
    }
}

extension WorkingDocument.State {
    fileprivate init(_ document: Document?) {
        self =
            switch document?.state {
            case .found: document?.record.map { .found($0) } ?? .unknown
            case .absent: .absent
            case .unknown: .unknown
            case .notRead, nil: .nothing
            }
    }
}

// MARK: - Mutations

extension WorkingDocument {
    /// Applies a pending mutation.
    ///
    /// A mutation whose precondition fails has no effect. Transforms read the document as it was
    /// before the mutation, and their values override those of a set or patch.
    ///
    /// - Parameters:
    ///   - mutation: the mutation.
    ///   - localWriteTime: the time of its batch, by the local clock.
    ///   - batchID: its batch.
    ///   - builder: encodes changed values.
    /// - Throws: `invalidArgument` if maps become nested too deep for a record.
    package mutating func apply(
        _ mutation: Mutation, localWriteTime: Timestamp,
        batchID: Int64 = OverlayHistory.nextBatchID, using builder: RecordBuilder
    ) throws(LarderError) {
        dependsOnContents =
            !mutation.replacesAll && (dependsOnContents || mutation.dependsOnContents)
        // Nothing before a mutation that replaces all matters.
        if history == nil, mutation.replacesAll { history = OverlayHistory() }
        history?.noteAttempt(mutation)
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
                changes = .whole  // releases the paths, which then grow in place
                paths += mask.paths
                paths += mutation.transforms.lazy.map(\.path)
                changes = .fields(paths)
            }
        }
        let result = record
        history?.noteEffect(mutation, of: batchID, result)
        version = .none
        createTime = nil
        hasLocalMutations = true
        hasCommittedMutations = false
    }

    /// Applies a mutation that the backend has committed to the cached document.
    ///
    /// A patch whose precondition does not hold for the cached document leaves unknown fields: the
    /// backend's document differs from the cached one. A write that only creates has determined the
    /// create time; after others, that of a document that was not cached is unknown.
    ///
    /// - Throws: `internal` if the backend's values do not fit the mutation's transforms.
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
        if isFound, mutation.precondition == .exists(false) {
            createTime = version.timestamp
        } else if !wasFound || !isFound {
            createTime = nil
        }
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

    /// The source, or this document with the source's values at the mask; in both cases with the
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
    /// Sets the value at a path, creating enclosing maps.
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
