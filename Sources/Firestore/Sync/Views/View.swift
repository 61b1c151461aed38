package import HashTreeCollections
package import LarderModel
package import LarderQuery

/// A commit of a pending write that the watch stream has not confirmed.
package struct UnconfirmedCommit: Sendable {
    let version: SnapshotVersion
    /// Whether a snapshot of that version or a later one has come since.
    var isOverdue = false
}

/// The result of one active query, kept up to date change by change.
///
/// A machine without threads or disk: first compute what changes of documents mean, run the
/// query again where the computation asks for a refill, then apply.
package struct View: Sendable {
    /// How much the backend has confirmed.
    enum SyncState: Sendable {
        /// No snapshot was made yet.
        case none
        /// Some of it is from the local store alone.
        case local
        /// All of it.
        case synced
    }

    /// The query.
    package let query: Query
    /// The result.
    package internal(set) var documents: DocumentSet
    /// Documents of the result with writes that the backend has not confirmed, as far as this
    /// view has seen them made.
    package internal(set) var mutatedKeys: TreeSet<DocumentPath> = []
    /// Documents of the result that still show a pending write although the backend has committed
    /// it: the watch stream is to bring what the commit made of them.
    var unconfirmedCommits: [DocumentPath: UnconfirmedCommit] = [:]
    /// True after documents left a limited result, or moved beyond its edge, by changes that the
    /// backend sent for other targets: the documents that follow are unknown until the backend
    /// reports on the view's own target.
    var isShort = false
    /// Documents that the backend has told to be in the view's target.
    package internal(set) var syncedDocuments: TreeSet<DocumentPath>
    /// Documents of the result that the backend should know but has not told of.
    package internal(set) var limboDocuments: TreeSet<DocumentPath> = []
    /// Whether the backend has told everything up to the present.
    package internal(set) var isCurrent = false
    /// The last snapshot of the backend of which the result is known to be complete; none before
    /// the first.
    package internal(set) var readTime = SnapshotVersion.none
    /// Whether the backend tells of the view's target.
    private var isWatched = false
    /// Whether the backend is asked for the view's target, so that limbo can be resolved.
    var isRemote = true
    var syncState = SyncState.none
    /// Whether ``limboDocuments`` is right for ``documents`` as they are, so that the next
    /// changes suffice to keep it so.
    var isLimboExact = false
    var hasCachedResults = false

    /// A view with an empty result.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - comparator: the query's comparator; nil to make one.
    ///   - remoteKeys: documents that the backend is known to have in the query's target.
    package init(
        _ query: Query, comparator: DocumentComparator? = nil,
        remoteKeys: TreeSet<DocumentPath> = []
    ) {
        self.query = query
        documents = DocumentSet(
            comparator: comparator ?? DocumentComparator(orders: query.orders))
        syncedDocuments = remoteKeys
    }

    /// Whether the backend has confirmed all of the result.
    package var isSynced: Bool { syncState == .synced }

    /// What a listener that comes later is shown first; nil before anything was applied.
    package var currentSnapshot: ViewSnapshot? {
        guard syncState != .none else { return nil }
        return ViewSnapshot(
            query: query, documents: documents, oldDocuments: documents, changes: .none,
            mutatedKeys: mutatedKeys, isFromCache: syncState == .local, syncStateChanged: false,
            excludesMetadataChanges: false, hasCachedResults: hasCachedResults,
            readTime: readTime)
    }

    /// Notes a snapshot of the backend, which holds for every result that it has confirmed.
    mutating func confirm(through version: SnapshotVersion) {
        if isSynced, isWatched { readTime = max(readTime, version) }
    }

    /// Notes a snapshot of the backend that is about to be applied.
    ///
    /// - Returns: whether a commit is overdue, so that the view is to be applied.
    package mutating func note(_ version: SnapshotVersion) -> Bool {
        for (path, commit) in unconfirmedCommits where commit.version <= version {
            unconfirmedCommits[path]?.isOverdue = true
        }
        return unconfirmedCommits.values.contains(where: \.isOverdue)
    }

    /// Notes whether the backend tells of the view's target from now on.
    mutating func setWatched(_ isWatched: Bool) {
        self.isWatched = isWatched
    }
}
