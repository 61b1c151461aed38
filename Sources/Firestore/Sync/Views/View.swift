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

extension View {
    /// What the first result of the query means for a view that is empty still.
    ///
    /// O(n) for documents in the query's order; they are not matched again, but the limit is
    /// kept.
    package func computeInitialChanges(_ result: [Document]) -> View.Update {
        var documents = DocumentSet(result, comparator: documents.comparator)
        switch query.limit {
        case .first(let count) where documents.count > count:
            documents = DocumentSet(
                Array(documents.prefix(count)), comparator: documents.comparator)
        case .last(let count) where documents.count > count:
            documents = DocumentSet(
                Array(documents.suffix(count)), comparator: documents.comparator)
        default: break
        }
        return View.Update(
            documents: documents, mutatedKeys: TreeSet(documents.pathsWithLocalMutations),
            unconfirmedCommits: [:], lost: [], moved: [],
            changes: DocumentViewChanges(adding: documents), needsRefill: false)
    }

    /// What new states of documents mean for the view.
    ///
    /// O(log(n / m)) for each of m documents, and O(log m) to sort them.
    ///
    /// - Parameters:
    ///   - updates: documents that may have changed, each once.
    ///   - matcher: the query's matcher; nil when all documents are known to match.
    ///   - previous: changes that come before these and are not applied yet.
    package func computeChanges(
        _ updates: some Sequence<LocalChange>, matcher: QueryMatcher?,
        after previous: View.Update? = nil
    ) -> View.Update {
        var computation = ViewComputation(
            limit: query.limit, documents: previous?.documents ?? documents,
            mutatedKeys: previous?.mutatedKeys ?? mutatedKeys, lost: previous?.lost ?? [],
            moved: previous?.moved ?? [],
            unconfirmedCommits: previous?.unconfirmedCommits ?? unconfirmedCommits,
            changes: DocumentChangeSet(previous?.changes ?? .none))
        for update in updates {
            let isMatch = update.after.map { matcher?.matches($0) ?? $0.exists } ?? false
            let isRemote = update.after.map { !$0.hasPendingWrites } ?? true
            computation.add(
                isMatch ? update.after : nil, at: update.path, revertsWrites: update.revertsWrites,
                isRemote: isRemote)
        }
        computation.finish()
        return View.Update(
            documents: computation.documents, mutatedKeys: computation.mutatedKeys,
            unconfirmedCommits: computation.unconfirmedCommits, lost: computation.lost,
            moved: computation.moved, changes: computation.changes.sorted(by: documents.comparator),
            needsRefill: computation.needsRefill)
    }
}

extension View {
    /// Makes computed changes the view's state.
    ///
    /// O(changes): limbo is looked at again for documents that changed; for all of them only when
    /// the view becomes current.
    ///
    /// - Parameters:
    ///   - changes: what ``computeChanges(_:matcher:after:)`` gave for the view as it is.
    ///   - target: what the backend told of the view's target, if it did.
    ///   - isPendingReset: the backend's count of documents did not agree, and its target is
    ///     asked for anew.
    package mutating func apply(
        _ changes: View.Update, target: View.TargetChange? = nil,
        isPendingReset: Bool = false
    ) -> (snapshot: ViewSnapshot?, limboChanges: [LimboChange]) {
        let oldDocuments = documents
        documents = changes.documents
        mutatedKeys = changes.mutatedKeys
        unconfirmedCommits = changes.unconfirmedCommits
        apply(target, isPendingReset: isPendingReset)
        let limboChanges = updateLimbo(changes.changes, target, isPendingReset: isPendingReset)
        if changes.lost.contains(where: { syncedDocuments.contains($0) }) { isShort = true }
        if target == nil, changes.moved.contains(where: { syncedDocuments.contains($0) }) {
            isShort = true
        }
        let isSynced = isCurrent && limboDocuments.isEmpty && !isPendingReset && !isShort
        let newState = isSynced ? SyncState.synced : .local
        let syncStateChanged = newState != syncState
        syncState = newState
        guard syncStateChanged || !changes.changes.isEmpty else {
            return (snapshot: nil, limboChanges: limboChanges)
        }
        hasCachedResults = target?.hasResumeToken ?? false
        let snapshot = ViewSnapshot(
            query: query, documents: documents, oldDocuments: oldDocuments,
            changes: changes.changes, mutatedKeys: mutatedKeys, isFromCache: !isSynced,
            syncStateChanged: syncStateChanged, excludesMetadataChanges: false,
            hasCachedResults: hasCachedResults, readTime: readTime)
        return (snapshot: snapshot, limboChanges: limboChanges)
    }

    /// Takes a change of the online state: offline, nothing is current any longer.
    ///
    /// Never changes limbo.
    package mutating func apply(_ onlineState: OnlineState) -> (
        snapshot: ViewSnapshot?, limboChanges: [LimboChange]
    ) {
        guard isCurrent, onlineState == .offline else {
            return (snapshot: nil, limboChanges: [])
        }
        isCurrent = false
        return apply(
            View.Update(
                documents: documents, mutatedKeys: mutatedKeys,
                unconfirmedCommits: unconfirmedCommits, lost: [], moved: [], changes: .none,
                needsRefill: false))
    }

    /// Whether the view is another once the backend has told this of its target, and nothing of
    /// documents.
    func isTouched(by target: View.TargetChange) -> Bool {
        !target.added.isEmpty || !target.removed.isEmpty || isCurrent != target.isCurrent
            || isLimboExact != isCurrent || isShort
            || syncState != (isCurrent && limboDocuments.isEmpty ? .synced : .local)
    }

    /// Takes how far the backend has told of the view's target; enough where that does not touch
    /// the view.
    mutating func confirm(by target: View.TargetChange) {
        setWatched(true)
        if !target.readTime.isNone { readTime = target.readTime }
    }

    private mutating func apply(_ target: View.TargetChange?, isPendingReset: Bool) {
        if let target { confirm(by: target) }
        if isPendingReset { readTime = .none }
        guard let target else { return }
        for path in target.added { syncedDocuments.insert(path) }
        for path in target.removed { syncedDocuments.remove(path) }
        isCurrent = target.isCurrent
        isShort = false
    }
}
