import Foundation
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

/// What happened to a document in a query's results.
public enum DocumentChangeType: Int, Hashable, Sendable {
    /// It has come into the results.
    case added = 0
    /// It is in them still, with other contents or, where that was asked for, other metadata.
    case modified = 1
    /// It has left the results; ``DocumentChange/document`` is as it was before.
    case removed = 2
}

/// A document's change from one snapshot of a query to the next.
///
/// Applied in their order to the earlier documents, each by removing at ``oldIndex`` and inserting at
/// ``newIndex``, the changes of a snapshot give its documents.
public final class DocumentChange: Sendable {
    /// What happened.
    public let type: DocumentChangeType

    /// The document after the change, or before it for one that left.
    public let document: QueryDocumentSnapshot

    /// Where it was when the changes before this one are applied; `UInt(NSNotFound)` for one that
    /// was added.
    public let oldIndex: UInt

    /// Where it is then; `UInt(NSNotFound)` for one that was removed.
    public let newIndex: UInt

    init(
        _ type: DocumentChangeType, _ document: QueryDocumentSnapshot, oldIndex: Int?,
        newIndex: Int?
    ) {
        self.type = type
        self.document = document
        self.oldIndex = UInt(oldIndex ?? NSNotFound)
        self.newIndex = UInt(newIndex ?? NSNotFound)
    }
}

extension DocumentChange: Hashable {
    /// Whether the same happened to equal documents at the same places.
    public static func == (left: DocumentChange, right: DocumentChange) -> Bool {
        left.type == right.type && left.oldIndex == right.oldIndex
            && left.newIndex == right.newIndex && left.document == right.document
    }

    /// Hashes type, document and places.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(document)
        hasher.combine(oldIndex)
        hasher.combine(newIndex)
    }
}
