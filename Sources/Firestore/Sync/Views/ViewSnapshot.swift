package import HashTreeCollections
package import LarderModel
package import LarderQuery

/// The result of a query at one moment, and how it differs from the one before.
///
/// A value that shares its documents with the view it comes from.
package struct ViewSnapshot: Sendable, Equatable {
    /// The query.
    package let query: Query
    /// The result, in order.
    package let documents: DocumentSet
    /// The result before.
    package let oldDocuments: DocumentSet
    /// What has changed between the two.
    package var changes: DocumentViewChanges
    /// Documents of the result with writes that the backend has not confirmed.
    package let mutatedKeys: TreeSet<DocumentPath>
    /// Whether the backend may know better.
    package let isFromCache: Bool
    /// Whether ``isFromCache`` has changed, or this is the first snapshot.
    package let syncStateChanged: Bool
    /// Whether changes of metadata alone were left out of ``changes``.
    package var excludesMetadataChanges: Bool
    /// Whether the backend has answered the query at some earlier time.
    package let hasCachedResults: Bool
    /// The last snapshot of the backend of which the result is known to be complete, but for
    /// pending writes; none for none.
    package internal(set) var readTime: SnapshotVersion

    /// Whether some document of the result has pending writes.
    package var hasPendingWrites: Bool { !mutatedKeys.isEmpty }

    /// The snapshot that a listener sees first: every document of this one was added to nothing.
    package var asInitial: ViewSnapshot {
        ViewSnapshot(
            query: query, documents: documents,
            oldDocuments: DocumentSet(comparator: documents.comparator),
            changes: DocumentViewChanges(adding: documents), mutatedKeys: mutatedKeys,
            isFromCache: isFromCache, syncStateChanged: true,
            excludesMetadataChanges: excludesMetadataChanges, hasCachedResults: hasCachedResults,
            readTime: readTime)
    }

    /// The changes with indices, to bring a list of the old documents up to date.
    ///
    /// Computed at each call; O(log n) a change.
    ///
    /// - Parameter includeMetadataChanges: whether changes of metadata alone are in it, too.
    /// - Throws: `invalidArgument` when they are asked for but the listener excluded them.
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
    /// What one step of the active views has led to; the caller delivers it.
    package struct Effects: Sendable {
        /// What a listener is told.
        package struct Delivery: Sendable {
            /// The listener.
            package let listener: ListenerID
            /// A snapshot; an error when the listener is told nothing any more.
            package let result: Result<ViewSnapshot, LarderError>
        }

        /// What listeners are told, in this order.
        package internal(set) var deliveries: [Delivery] = []
        /// Whether those who wait for snapshots in sync are told after the deliveries: some listener
        /// got a snapshot.
        package internal(set) var firesSnapshotsInSync = false
        /// Which documents are now in some view, and which are in none any longer.
        package internal(set) var pinnedPaths = PinnedPathsChange()
        /// Documents that came into limbo or left it, by view, in the views' order.
        package internal(set) var limboChanges: [(view: ViewID, changes: [LimboChange])] = []

        /// Views that have ended because their query failed or was refused.
        package internal(set) var endedViews: [ViewID] = []

        /// A step that has led to nothing.
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

/// What a commit did to one document, as the user sees it.
package struct LocalChange: Sendable {
    /// The document.
    package let path: DocumentPath
    /// What was known of it before; nil for nothing.
    package let before: Document?
    /// What is known of it now; nil for nothing.
    package let after: Document?
    /// Whether pending writes are gone that no backend has made: what they showed must go, too.
    package let revertsWrites: Bool

    /// A change of what is known of a document.
    package init(
        path: DocumentPath, before: Document?, after: Document?, revertsWrites: Bool = false
    ) {
        self.path = path
        self.before = before
        self.after = after
        self.revertsWrites = revertsWrites
    }
}

/// A document of a view came into limbo or left it: the view matches it, but the backend has not
/// told that its target has it.
package struct LimboChange: Sendable, Hashable {
    /// The document.
    package let path: DocumentPath
    /// Whether it came into limbo.
    package let isAdded: Bool

    /// A change of limbo.
    package init(_ path: DocumentPath, isAdded: Bool) {
        self.path = path
        self.isAdded = isAdded
    }
}

extension View {
    /// What the backend has told of the documents of a view's target.
    package struct TargetChange: Sendable {
        /// Documents that are now in the target.
        package var added: [DocumentPath]
        /// Documents that are no longer in it.
        package var removed: [DocumentPath]
        /// Whether the backend has told everything up to the present.
        package var isCurrent: Bool
        /// Whether the backend has given a token to resume the target from.
        package var hasResumeToken: Bool
        /// The backend's snapshot of which all documents of the target are known; none for what it
        /// was.
        package var readTime: SnapshotVersion

        /// A change of a target.
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
    }

    /// What changes of documents mean for a view, before they are applied to it.
    package struct Update: Sendable {
        /// The new result.
        package let documents: DocumentSet
        /// Documents of the new result with pending writes.
        package let mutatedKeys: TreeSet<DocumentPath>
        /// Documents of the new result that show a pending write which the backend has committed.
        let unconfirmedCommits: [DocumentPath: UnconfirmedCommit]
        /// Documents that a limited result has lost by what the backend told, and not by a write here.
        let lost: [DocumentPath]
        /// Documents that the backend has moved beyond the edge of a full, limited result.
        let moved: [DocumentPath]
        /// What has changed since the view's result.
        package let changes: DocumentViewChanges
        /// Whether documents beyond the limit may have to come in: run the query again and compute
        /// with its result after this.
        package let needsRefill: Bool
    }
}
