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

/// What one step of the active views has led to; the caller delivers it.
package struct ViewEffects: Sendable {
    /// What a listener is told.
    package struct Delivery: Sendable {
        /// The listener.
        package let listener: ActiveViews.ListenerID
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

    mutating func deliver(_ snapshot: ViewSnapshot, to listener: ActiveViews.ListenerID) {
        deliveries.append(Delivery(listener: listener, result: .success(snapshot)))
        firesSnapshotsInSync = true
    }

    mutating func deliver(_ error: LarderError, to listener: ActiveViews.ListenerID) {
        deliveries.append(Delivery(listener: listener, result: .failure(error)))
    }
}
