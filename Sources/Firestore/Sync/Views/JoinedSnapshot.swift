import LarderQuery

/// A snapshot of a listener, and later ones that are delivered with it as one.
package struct JoinedSnapshot: Sendable {
    private let first: ViewSnapshot
    private var last: ViewSnapshot
    /// The changes of all; nil for one snapshot.
    private var changes: DocumentChangeSet?
    private var syncStateChanged: Bool

    package init(_ snapshot: ViewSnapshot) {
        (first, last, syncStateChanged) = (snapshot, snapshot, snapshot.syncStateChanged)
    }

    /// Adds the listener's next snapshot.
    ///
    /// O(changes of it), amortized.
    package mutating func append(_ snapshot: ViewSnapshot) {
        var changes = changes ?? DocumentChangeSet(first.changes)
        self.changes = nil
        for change in snapshot.changes { changes.add(change) }
        self.changes = changes
        last = snapshot
        syncStateChanged = syncStateChanged || snapshot.syncStateChanged
    }

    /// The last result with the changes since the one before the first; nil if the changes have
    /// cancelled each other, and the listener does not see changes of metadata alone.
    package var snapshot: ViewSnapshot? {
        guard let changes else { return first }
        let sorted = changes.sorted(by: last.documents.comparator)
        if sorted.isEmpty, !syncStateChanged, first.excludesMetadataChanges { return nil }
        return ViewSnapshot(
            query: last.query, documents: last.documents, oldDocuments: first.oldDocuments,
            changes: sorted, mutatedKeys: last.mutatedKeys, isFromCache: last.isFromCache,
            syncStateChanged: syncStateChanged,
            excludesMetadataChanges: last.excludesMetadataChanges,
            hasCachedResults: last.hasCachedResults, readTime: last.readTime)
    }
}
