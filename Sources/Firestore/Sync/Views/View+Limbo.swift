import HashTreeCollections
import LarderModel
import LarderQuery

extension View {
    /// Updates limbo, unless the backend's response is incomplete.
    mutating func updateLimbo(
        _ changes: DocumentViewChanges, _ target: View.TargetChange?, isPendingReset: Bool
    ) -> [LimboChange] {
        guard isCurrent, !isPendingReset else {
            isLimboExact = false
            return []
        }
        defer { isLimboExact = isCurrent }
        guard isLimboExact else { return recomputeLimbo() }
        // Those that are in limbo, or shall be, are few.
        var (leaving, entering) = (Set<DocumentPath>(), Set<DocumentPath>())
        func look(at path: DocumentPath) {
            let was = !limboDocuments.isEmpty && limboDocuments.contains(path)
            let shall = isInLimbo(path)
            if was && !shall { leaving.insert(path) }
            if shall && !was { entering.insert(path) }
        }
        changes.forEachPath { look(at: $1) }
        target?.added.forEach(look)
        target?.removed.forEach(look)
        for (path, commit) in unconfirmedCommits where commit.isOverdue { look(at: path) }
        return changeLimbo(leaving, entering)
    }

    /// Notes that the target has ended at the backend: limbo stays unresolved.
    mutating func abandonTarget() {
        isRemote = false
        forgetLimbo()
    }

    /// Forgets the documents in limbo until the target is current again.
    mutating func forgetLimbo() {
        guard !limboDocuments.isEmpty || isCurrent && !isSynced else { return }
        isCurrent = false
        limboDocuments = []
        isLimboExact = false
    }

    private mutating func recomputeLimbo() -> [LimboChange] {
        var limbo: TreeSet<DocumentPath> = []
        documents.forEachPath { if isInLimbo($0) { limbo.insert($0) } }
        return changeLimbo(
            limboDocuments.filter { !limbo.contains($0) },
            limbo.filter { !limboDocuments.contains($0) })
    }

    private mutating func changeLimbo(
        _ leaving: some Sequence<DocumentPath>, _ entering: some Sequence<DocumentPath>
    ) -> [LimboChange] {
        guard isRemote else {
            // Nothing would end limbo: the result is one from the cache.
            if entering.contains(where: { _ in true }) { isCurrent = false }
            return []
        }
        var changes: [LimboChange] = []
        for path in leaving.sorted() {
            limboDocuments.remove(path)
            changes.append(LimboChange(path, isAdded: false))
        }
        for path in entering.sorted() {
            limboDocuments.insert(path)
            changes.append(LimboChange(path, isAdded: true))
        }
        return changes
    }

    /// A document with pending writes is the user's own, unless the backend has committed them and
    /// the snapshot of the commit did not bring it: another client may have deleted it meanwhile.
    private func isInLimbo(_ path: DocumentPath) -> Bool {
        guard !syncedDocuments.contains(path), let document = documents.document(at: path) else {
            return false
        }
        return !document.hasLocalMutations
            || unconfirmedCommits[path]?.isOverdue ?? false
    }
}
