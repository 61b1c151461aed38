package import LarderModel
package import LarderRemote
package import OrderedCollections

/// What a backend has told up to one snapshot: everything, for every target that is watched.
package struct RemoteEvent: Sendable {
    /// The snapshot; none for an event that no backend sent.
    package var version: SnapshotVersion
    /// What has happened to targets.
    package var targets: [Int32: RemoteTargetChange]
    /// Targets whose number of documents did not agree, each with the purpose for which it is
    /// asked for anew.
    package var mismatches: [Int32: WatchTarget.Purpose]
    /// Documents that changed, as they were told: a backend mostly tells them in the order of their
    /// names.
    ///
    /// An absent one without a version says that nothing is known of it any more.
    package var documents: OrderedDictionary<DocumentPath, DocumentReading>
    /// Documents of ``documents`` that were asked for only because they were in limbo.
    package var resolvedLimboDocuments: Set<DocumentPath>

    /// An event with some contents.
    package init(
        version: SnapshotVersion, targets: [Int32: RemoteTargetChange] = [:],
        mismatches: [Int32: WatchTarget.Purpose] = [:],
        documents: OrderedDictionary<DocumentPath, DocumentReading> = [:],
        resolvedLimboDocuments: Set<DocumentPath> = []
    ) {
        self.version = version
        self.targets = targets
        self.mismatches = mismatches
        self.documents = documents
        self.resolvedLimboDocuments = resolvedLimboDocuments
    }
}

/// What an event says of one target.
package struct RemoteTargetChange: Sendable, Equatable {
    /// What resumes the target from here; empty for what it was.
    package var resumeToken: [UInt8]
    /// Whether the backend has told all that there was.
    package var isCurrent: Bool
    /// Documents that came into the target.
    package var added: Set<DocumentPath>
    /// Documents that were in it and have changed.
    package var modified: Set<DocumentPath>
    /// Documents that left it.
    package var removed: Set<DocumentPath>

    /// A change with some contents.
    package init(
        resumeToken: [UInt8] = [], isCurrent: Bool = false, added: Set<DocumentPath> = [],
        modified: Set<DocumentPath> = [], removed: Set<DocumentPath> = []
    ) {
        self.resumeToken = resumeToken
        self.isCurrent = isCurrent
        self.added = added
        self.modified = modified
        self.removed = removed
    }

    /// Whether documents have changed.
    package var hasDocuments: Bool { !(added.isEmpty && modified.isEmpty && removed.isEmpty) }
}
