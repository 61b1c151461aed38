package import HashTreeCollections
package import LarderModel
package import LarderQuery

package struct UnconfirmedCommit: Sendable {
    let version: SnapshotVersion
    /// Whether a snapshot of that version or a later one was received.
    var isOverdue = false
}

/// The result of an active query, updated incrementally.
///
/// A pure machine: compute an update from changed documents, run the query again if it needs a
/// refill, then apply it.
package struct View: Sendable {
    enum SyncState: Sendable {
        case none
        /// Some documents are from the local store alone.
        case local
        /// The backend has confirmed all documents.
        case synced
    }

    package let query: Query
    /// True if the store has all documents that there are: the result is never from a cache.
    private let isAuthoritative: Bool
    package internal(set) var documents: DocumentSet
    /// Documents of the result with unconfirmed writes that this view has seen.
    package internal(set) var mutatedKeys: TreeSet<DocumentPath> = []
    /// Documents of the result that show a committed write until the watch stream sends them.
    var unconfirmedCommits: [DocumentPath: UnconfirmedCommit] = [:]
    /// True after documents left a limited result, or moved beyond its edge, by changes that the
    /// backend sent for other targets: the documents that follow are unknown until the backend
    /// reports on the view's own target.
    var isShort = false
    /// Documents that the backend has reported in the view's target.
    package internal(set) var syncedDocuments: TreeSet<DocumentPath>
    /// Documents of the result that the backend should know but has not reported.
    package internal(set) var limboDocuments: TreeSet<DocumentPath> = []
    /// Whether the backend has sent the whole target.
    package internal(set) var isCurrent = false
    /// The last snapshot for which the result is complete; none before the first.
    package internal(set) var readTime = SnapshotVersion.none
    /// Whether the backend sends changes of the view's target.
    private var isWatched = false
    /// Whether the target is listened to at the backend, so that limbo can be resolved.
    var isRemote = true
    var syncState = SyncState.none
    /// Whether ``limboDocuments`` is exact for ``documents``, so that changes suffice to keep it
    /// so.
    var isLimboExact = false
    var hasCachedResults = false

    /// - Parameters:
    ///   - remoteKeys: the documents that the backend is known to have in the query's target.
    ///   - isAuthoritative: true if the store has all documents that there are.
    package init(
        _ query: Query, comparator: DocumentComparator? = nil,
        remoteKeys: TreeSet<DocumentPath> = [], isAuthoritative: Bool = false
    ) {
        self.query = query
        self.isAuthoritative = isAuthoritative
        documents = DocumentSet(
            comparator: comparator ?? DocumentComparator(orders: query.orders))
        syncedDocuments = remoteKeys
    }

    package var isSynced: Bool { syncState == .synced }

    /// The first snapshot of a listener that joins; nil before the first update.
    package var currentSnapshot: ViewSnapshot? {
        guard syncState != .none else { return nil }
        return ViewSnapshot(
            query: query, documents: documents, oldDocuments: documents, changes: .none,
            mutatedKeys: mutatedKeys, isFromCache: syncState == .local, syncStateChanged: false,
            excludesMetadataChanges: false, hasCachedResults: hasCachedResults,
            readTime: readTime)
    }

    /// Notes a snapshot of the backend, which includes every result that it has confirmed.
    mutating func confirm(through version: SnapshotVersion) {
        if isSynced, isWatched { readTime = max(readTime, version) }
    }

    /// Notes a snapshot of the backend that is about to be applied.
    ///
    /// - Returns: whether a commit is overdue, so that the view must be updated.
    package mutating func note(_ version: SnapshotVersion) -> Bool {
        for (path, commit) in unconfirmedCommits where commit.version <= version {
            unconfirmedCommits[path]?.isOverdue = true
        }
        return unconfirmedCommits.values.contains(where: \.isOverdue)
    }

    mutating func setWatched(_ isWatched: Bool) {
        self.isWatched = isWatched
    }
}

extension View {
    /// The update of an empty view by the first result of its query.
    ///
    /// O(n) for documents in the query's order; they are limited, but not matched again.
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

    /// The update of the view by new states of documents.
    ///
    /// O(log(n / m)) for each of m documents, and O(log m) to sort them.
    ///
    /// - Parameters:
    ///   - updates: documents that may have changed, each once.
    ///   - matcher: the query's matcher; nil if all documents match.
    ///   - previous: an update that precedes this one and is not applied yet.
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
    /// Applies an update.
    ///
    /// O(changes); O(n) when the view becomes current, since all documents are checked for limbo
    /// then.
    ///
    /// - Parameters:
    ///   - changes: the result of ``computeChanges(_:matcher:after:)`` for the present view.
    ///   - target: the change of the view's target, if any.
    ///   - isPendingReset: whether the target is requested again, since its count did not agree.
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
        let isSynced =
            isAuthoritative
            || isCurrent && limboDocuments.isEmpty && !isPendingReset && !isShort
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

    /// Applies a change of the online state: offline views are not current.
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

    /// Whether a change of the target, without documents, changes the view.
    func isTouched(by target: View.TargetChange) -> Bool {
        !target.added.isEmpty || !target.removed.isEmpty || isCurrent != target.isCurrent
            || isLimboExact != isCurrent || isShort
            || syncState != (isCurrent && limboDocuments.isEmpty ? .synced : .local)
    }

    /// Takes the progress of the view's target; sufficient for a change that does not touch the
    /// view.
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
