import HashTreeCollections
package import LarderModel
package import LarderQuery

extension View {
    /// What the first result of the query means for a view that is empty still.
    ///
    /// O(n) for documents in the query's order; they are not matched again, but the limit is
    /// kept.
    package func computeInitialChanges(_ result: [Document]) -> ViewDocumentChanges {
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
        return ViewDocumentChanges(
            documents: documents, mutatedKeys: TreeSet(documents.pathsWithLocalMutations),
            unconfirmedCommits: [:], lost: [], moved: [],
            changes: DocumentViewChanges(adding: documents),
            needsRefill: false)
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
        _ updates: some Sequence<DocumentUpdate>, matcher: QueryMatcher?,
        after previous: ViewDocumentChanges? = nil
    ) -> ViewDocumentChanges {
        var computation = ViewComputation(
            limit: query.limit, documents: previous?.documents ?? documents,
            mutatedKeys: previous?.mutatedKeys ?? mutatedKeys, lost: previous?.lost ?? [],
            moved: previous?.moved ?? [],
            unconfirmedCommits: previous?.unconfirmedCommits ?? unconfirmedCommits,
            changes: DocumentChangeSet(previous?.changes ?? .none))
        for update in updates {
            let isMatch = update.document.map { matcher?.matches($0) ?? $0.exists } ?? false
            let isRemote = update.document.map { !$0.hasPendingWrites } ?? true
            computation.add(
                isMatch ? update.document : nil, at: update.path, takesBack: update.takesBack,
                isRemote: isRemote)
        }
        computation.finish()
        return ViewDocumentChanges(
            documents: computation.documents, mutatedKeys: computation.mutatedKeys,
            unconfirmedCommits: computation.unconfirmedCommits, lost: computation.lost,
            moved: computation.moved, changes: computation.changes.sorted(by: documents.comparator),
            needsRefill: computation.needsRefill)
    }
}
