import HashTreeCollections
import LarderModel
import LarderQuery

extension View {
    /// Brings limbo up to date, unless the backend's answer is incomplete: then limbo stays as it
    /// was.
    mutating func updateLimbo(
        _ changes: DocumentViewChanges, _ target: ViewTargetChange?, isPendingReset: Bool
    ) -> [LimboChange] {
        guard isCurrent, !isPendingReset else {
            isLimboExact = false
            return []
        }
        defer { isLimboExact = true }
        guard isLimboExact else { return recomputeLimbo() }
        var candidates = Set(changes.lazy.map(\.document.path))
        if let target {
            candidates.formUnion(target.added)
            candidates.formUnion(target.removed)
        }
        let (leaving, entering) = candidates.reduce(into: ([DocumentPath](), [DocumentPath]())) {
            let (was, shall) = (limboDocuments.contains($1), isInLimbo($1))
            if was && !shall { $0.0.append($1) }
            if shall && !was { $0.1.append($1) }
        }
        return changeLimbo(leaving, entering)
    }

    private mutating func recomputeLimbo() -> [LimboChange] {
        let limbo = TreeSet(documents.filter { isInLimbo($0) }.map(\.path))
        return changeLimbo(
            limboDocuments.filter { !limbo.contains($0) },
            limbo.filter { !limboDocuments.contains($0) })
    }

    private mutating func changeLimbo(
        _ leaving: some Sequence<DocumentPath>, _ entering: some Sequence<DocumentPath>
    ) -> [LimboChange] {
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

    private func isInLimbo(_ path: DocumentPath) -> Bool {
        documents.document(at: path).map { isInLimbo($0) } ?? false
    }

    private func isInLimbo(_ document: Document) -> Bool {
        !syncedDocuments.contains(document.path) && !document.hasLocalMutations
    }
}
