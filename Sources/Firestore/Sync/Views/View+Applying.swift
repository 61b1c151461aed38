import HashTreeCollections
import LarderModel
import LarderQuery

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
        _ changes: ViewDocumentChanges, target: ViewTargetChange? = nil,
        isPendingReset: Bool = false
    ) -> ViewUpdate {
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
            return ViewUpdate(snapshot: nil, limboChanges: limboChanges)
        }
        hasCachedResults = target?.hasResumeToken ?? false
        let snapshot = ViewSnapshot(
            query: query, documents: documents, oldDocuments: oldDocuments,
            changes: changes.changes, mutatedKeys: mutatedKeys, isFromCache: !isSynced,
            syncStateChanged: syncStateChanged, excludesMetadataChanges: false,
            hasCachedResults: hasCachedResults, readTime: readTime)
        return ViewUpdate(snapshot: snapshot, limboChanges: limboChanges)
    }

    /// Takes a change of the online state: offline, nothing is current any longer.
    ///
    /// Never changes limbo.
    package mutating func apply(_ onlineState: OnlineState) -> ViewUpdate {
        guard isCurrent, onlineState == .offline else {
            return ViewUpdate(snapshot: nil, limboChanges: [])
        }
        isCurrent = false
        return apply(
            ViewDocumentChanges(
                documents: documents, mutatedKeys: mutatedKeys,
                unconfirmedCommits: unconfirmedCommits, lost: [], moved: [], changes: .none,
                needsRefill: false))
    }

    /// Whether the view is another once the backend has told this of its target, and nothing of
    /// documents.
    func isTouched(by target: ViewTargetChange) -> Bool {
        !target.added.isEmpty || !target.removed.isEmpty || isCurrent != target.isCurrent
            || isLimboExact != isCurrent || isShort
            || syncState != (isCurrent && limboDocuments.isEmpty ? .synced : .local)
    }

    /// Takes how far the backend has told of the view's target; enough where that does not touch
    /// the view.
    mutating func confirm(by target: ViewTargetChange) {
        setWatched(true)
        if !target.readTime.isNone { readTime = target.readTime }
    }

    private mutating func apply(_ target: ViewTargetChange?, isPendingReset: Bool) {
        if let target { confirm(by: target) }
        if isPendingReset { readTime = .none }
        guard let target else { return }
        for path in target.added { syncedDocuments.insert(path) }
        for path in target.removed { syncedDocuments.remove(path) }
        isCurrent = target.isCurrent
        isShort = false
    }
}
