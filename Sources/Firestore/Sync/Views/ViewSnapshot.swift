package import HashTreeCollections
package import LarderModel
package import LarderQuery

/// The result of a query at one moment, and its changes since the last one.
///
/// Shares its documents with the view.
package struct ViewSnapshot: Sendable, Equatable {
    package let query: Query
    package let documents: DocumentSet
    package let oldDocuments: DocumentSet
    package var changes: DocumentViewChanges
    /// Documents of the result with unconfirmed writes.
    package let mutatedKeys: TreeSet<DocumentPath>
    /// Whether the backend has not confirmed the result.
    package let isFromCache: Bool
    /// Whether ``isFromCache`` has changed; true for the first snapshot.
    package let syncStateChanged: Bool
    /// Whether ``changes`` omits changes of metadata alone.
    package var excludesMetadataChanges: Bool
    /// Whether the backend has answered the query before.
    package let hasCachedResults: Bool
    /// The last snapshot for which the result, apart from pending writes, is complete; none before
    /// the first.
    package internal(set) var readTime: SnapshotVersion

    package var hasPendingWrites: Bool { !mutatedKeys.isEmpty }

    /// The same as a first snapshot: all documents are added.
    package var asInitial: ViewSnapshot {
        ViewSnapshot(
            query: query, documents: documents,
            oldDocuments: DocumentSet(comparator: documents.comparator),
            changes: DocumentViewChanges(adding: documents), mutatedKeys: mutatedKeys,
            isFromCache: isFromCache, syncStateChanged: true,
            excludesMetadataChanges: excludesMetadataChanges, hasCachedResults: hasCachedResults,
            readTime: readTime)
    }

    /// The changes with indices into the list of the old documents.
    ///
    /// Computed at each call; O(log n) per change.
    ///
    /// - Parameter includeMetadataChanges: whether to include changes of metadata alone.
    /// - Throws: `invalidArgument` for changes of metadata that the listener excluded.
    package func documentChanges(includeMetadataChanges: Bool = false)
        throws(LarderError) -> [IndexedDocumentChange]
    {
        guard !includeMetadataChanges || !excludesMetadataChanges else {
            throw LarderError(
                .invalidArgument,
                "to list metadata changes, add the listener with includeMetadataChanges")
        }
        let changes = includeMetadataChanges ? changes : changes.withoutMetadata
        return changes.indexed(from: oldDocuments)
    }
}

extension ActiveViews {
    /// The effects of one step of the active views.
    package struct Effects: Sendable {
        /// A snapshot for a listener.
        package struct Delivery: Sendable {
            package let listener: ListenerID
            /// An error ends the listener.
            package let result: Result<ViewSnapshot, LarderError>
        }

        /// In the order of delivery.
        package internal(set) var deliveries: [Delivery] = []
        /// Whether to notify observers of snapshots in sync after the deliveries: a listener got a
        /// snapshot.
        package internal(set) var firesSnapshotsInSync = false
        /// Documents to pin and to unpin.
        package internal(set) var pinnedPaths = PinnedPathsChange()
        /// Changes of limbo by view, in the views' order.
        package internal(set) var limboChanges: [(view: ViewID, changes: [LimboChange])] = []

        package internal(set) var endedViews: [ViewID] = []

        package init() {}

        mutating func deliver(_ snapshot: ViewSnapshot, to listener: ListenerID) {
            deliveries.append(Delivery(listener: listener, result: .success(snapshot)))
            firesSnapshotsInSync = true
        }

        mutating func deliver(_ error: LarderError, to listener: ListenerID) {
            deliveries.append(Delivery(listener: listener, result: .failure(error)))
        }
    }
}

/// A commit's change of a document, as the user sees it.
package struct LocalChange: Sendable {
    package let path: DocumentPath
    /// Nil if it was unknown.
    package let before: Document?
    /// Nil if it is unknown.
    package let after: Document?
    /// Whether pending writes were rejected or cancelled, whose effects must disappear.
    package let revertsWrites: Bool

    package init(
        path: DocumentPath, before: Document?, after: Document?, revertsWrites: Bool = false
    ) {
        self.path = path
        self.before = before
        self.after = after
        self.revertsWrites = revertsWrites
    }
}

/// A document of a view entered or left limbo: the view matches it, but the backend has not
/// reported it in the view's target.
package struct LimboChange: Sendable, Hashable {
    package let path: DocumentPath
    /// Whether it entered limbo.
    package let isAdded: Bool

    package init(_ path: DocumentPath, isAdded: Bool) {
        self.path = path
        self.isAdded = isAdded
    }
}

extension View {
    /// A change of a view's target.
    package struct TargetChange: Sendable {
        package var added: [DocumentPath]
        package var removed: [DocumentPath]
        /// Whether the backend has sent the whole target.
        package var isCurrent: Bool
        /// Whether the target has a resume token.
        package var hasResumeToken: Bool
        /// The snapshot for which the target is complete; none if unchanged.
        package var readTime: SnapshotVersion

        package init(
            added: [DocumentPath] = [], removed: [DocumentPath] = [], isCurrent: Bool = false,
            hasResumeToken: Bool = false, readTime: SnapshotVersion = .none
        ) {
            self.added = added
            self.removed = removed
            self.isCurrent = isCurrent
            self.hasResumeToken = hasResumeToken
            self.readTime = readTime
        }

        /// The same for an earlier result, for which the target was not complete.
        var ofEarlierResult: TargetChange { TargetChange(hasResumeToken: hasResumeToken) }
    }

    /// A computed update of a view, before it is applied.
    package struct Update: Sendable {
        package let documents: DocumentSet
        package let mutatedKeys: TreeSet<DocumentPath>
        let unconfirmedCommits: [DocumentPath: UnconfirmedCommit]
        /// Documents that a limited result has lost by changes of the backend.
        let lost: [DocumentPath]
        /// Documents that the backend has moved beyond the edge of a full, limited result: unknown
        /// documents may precede them now.
        let moved: [DocumentPath]
        package let changes: DocumentViewChanges
        /// Whether documents beyond the limit may belong into the result: run the query again, and
        /// compute the next update from its result.
        package let needsRefill: Bool
    }
}
