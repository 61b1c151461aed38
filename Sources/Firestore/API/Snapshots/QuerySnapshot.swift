import LarderModel
import LarderQuery
import LarderSync
import Logging
import Synchronization

/// What matched a query at one moment, and how that differs from the snapshot before.
public final class QuerySnapshot: Sendable {
    /// The query.
    public let query: Query

    /// Whether writes are pending in the results, and whether they come from the cache.
    public let metadata: SnapshotMetadata

    private let state: SnapshotState
    private let results: Results
    private let built = Mutex<[QueryDocumentSnapshot]?>(nil)

    private enum Results: Sendable {
        /// Of a read from the cache.
        case documents([Document])
        /// Of a listener.
        case view(ViewSnapshot)
    }

    /// The results of a read from the cache.
    init(_ query: Query, cached documents: [Document], readTime: SnapshotVersion) {
        self.query = query
        results = .documents(documents)
        let pendingCount = documents.count(where: \.hasLocalMutations)
        state = SnapshotState(hasPendingWrites: pendingCount > 0, readTime: readTime)
        metadata = state.metadata(pendingDocumentCount: pendingCount)
    }

    /// The results that a listener was told.
    init(_ query: Query, _ view: ViewSnapshot) {
        self.query = query
        results = .view(view)
        state = SnapshotState(
            hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache,
            readTime: view.readTime)
        metadata = state.metadata(pendingDocumentCount: view.mutatedKeys.count)
    }

    /// How many documents matched.
    public var count: Int {
        switch results {
        case .documents(let documents): documents.count
        case .view(let view): view.documents.count
        }
    }

    /// Whether nothing matched.
    public var isEmpty: Bool { count == 0 }

    /// The documents that matched, in the query's order.
    ///
    /// Made at the first call, in time linear in their number.
    public var documents: [QueryDocumentSnapshot] {
        built.withLock { built in
            if let built { return built }
            let made = makeDocuments()
            built = made
            return made
        }
    }

    /// What changed since the listener's snapshot before; for the first one every document was
    /// added.
    public var documentChanges: [DocumentChange] {
        documentChanges(includeMetadataChanges: false)
    }

    /// What changed since the listener's snapshot before, with or without documents whose
    /// metadata alone changed.
    ///
    /// Metadata changes are known only to listeners with `includeMetadataChanges`. Where Apple's SDK
    /// stops the program for others, the other changes are given and an error is logged.
    public func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange] {
        switch results {
        case .documents:
            return documents.enumerated().map { index, document in
                DocumentChange(.added, document, oldIndex: nil, newIndex: index)
            }
        case .view(let view):
            return changes(of: view, includeMetadataChanges)
        }
    }

    private func makeDocuments() -> [QueryDocumentSnapshot] {
        switch results {
        case .documents(let documents):
            documents.map { snapshot($0, hasPendingWrites: $0.hasLocalMutations) }
        case .view(let view):
            view.documents.map { snapshot($0, in: view) }
        }
    }

    private func snapshot(_ document: Document, in view: ViewSnapshot) -> QueryDocumentSnapshot {
        snapshot(document, hasPendingWrites: view.mutatedKeys.contains(document.path))
    }

    private func snapshot(
        _ document: Document, hasPendingWrites: Bool
    ) -> QueryDocumentSnapshot {
        var state = state
        state.hasPendingWrites = hasPendingWrites
        return QueryDocumentSnapshot(query.firestore, document, state)
    }

    private func changes(
        of view: ViewSnapshot, _ includeMetadataChanges: Bool
    ) -> [DocumentChange] {
        do throws(LarderError) {
            let changes = try view.documentChanges(includeMetadataChanges: includeMetadataChanges)
            return changes.map { change in
                DocumentChange(
                    DocumentChangeType(change.kind), snapshot(change.document, in: view),
                    oldIndex: change.oldIndex, newIndex: change.newIndex)
            }
        } catch {
            query.firestore.logger.error(
                "documentChanges(includeMetadataChanges:): \(error.message)")
            return includeMetadataChanges ? self.changes(of: view, false) : []
        }
    }
}

extension QuerySnapshot: Hashable {
    /// Whether both are of equal queries, with equal documents, changes and metadata.
    public static func == (left: QuerySnapshot, right: QuerySnapshot) -> Bool {
        left.query == right.query && left.metadata == right.metadata
            && left.documents == right.documents
            && left.documentChanges == right.documentChanges
    }

    /// Hashes query and metadata.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(query)
        hasher.combine(metadata)
        hasher.combine(count)
    }
}

extension DocumentChangeType {
    fileprivate init(_ kind: IndexedDocumentChange.Kind) {
        switch kind {
        case .added: self = .added
        case .modified: self = .modified
        case .removed: self = .removed
        }
    }
}
