/// A document while mutations are applied to it, one after the other.
package struct WorkingDocument: Sendable {
    /// What is known of the document.
    package enum State: Sendable {
        /// Nothing.
        case nothing
        /// It exists with these fields.
        case found(Record)
        /// It does not exist.
        case absent
        /// It exists with fields that are not known.
        case unknown
    }

    /// Which part of a document pending writes decide.
    package enum LocalChanges: Sendable {
        /// All of it.
        case whole
        /// What these paths lead to; in any order, and some may come twice.
        case fields([FieldPath])
    }

    /// What is known of the document.
    package internal(set) var state: State
    /// The version of what is known; none where pending writes are in it.
    package internal(set) var version: SnapshotVersion
    /// When the document was created, where that is known.
    package internal(set) var createTime: Timestamp?
    /// Whether pending writes are in it.
    package internal(set) var hasLocalMutations: Bool
    /// Whether acknowledged writes are in it that the watch stream has not confirmed.
    package internal(set) var hasCommittedMutations: Bool
    /// What pending writes have decided so far.
    package internal(set) var changes = LocalChanges.fields([])
    /// The version that the cache had of the document; none when it is known as a view only.
    package let cachedVersion: SnapshotVersion
    /// Whether what pending writes made depends on more of the document below them than on
    /// whether it exists.
    package internal(set) var dependsOnContents = false

    /// A document as the cache has it; nil for one of which it knows nothing.
    package init(_ cached: Document?) {
        state = State(cached)
        version = cached?.version ?? .none
        cachedVersion = version
        createTime = cached?.createTime
        hasLocalMutations = cached?.hasLocalMutations ?? false
        hasCommittedMutations = cached?.hasCommittedMutations ?? false
    }

    /// The local view that earlier pending writes have made, to apply more to it.
    package init(view: Document, madeBy overlay: OverlayMutation) {
        self.init(view)
        dependsOnContents = overlay.dependsOnContents
        changes =
            switch overlay.operation {
            case .set, .delete: .whole
            case .patch(let mask): .fields(mask.paths)
            }
    }

    /// A document as a backend has it.
    package init(state: State, version: SnapshotVersion, createTime: Timestamp? = nil) {
        self.state = state
        self.version = version
        cachedVersion = version
        self.createTime = createTime
        hasLocalMutations = false
        hasCommittedMutations = false
    }

    /// The fields of a document that exists.
    package var record: Record? {
        if case .found(let record) = state { record } else { nil }
    }

    /// Whether the document exists with known fields.
    package var isFound: Bool { record != nil }

    /// Whether a precondition holds of the document as it is now.
    package func satisfies(_ precondition: Precondition) -> Bool {
        switch precondition {
        case .none: true
        case .exists(let exists): exists == isFound
        case .updateTime(let version): isFound && version == self.version
        }
    }

    /// The document as a value; nil when nothing is known of it.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - readTime: when the cache learnt it; none is taken where pending writes are in it.
    ///   - batchID: where pending writes are in it, the last batch that touches it.
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
