import Foundation
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Logging
import Synchronization

/// The results of a query at a point in time, with the changes since the previous snapshot.
public final class QuerySnapshot: Sendable {
    /// The query.
    public let query: Query

    /// Whether the results contain pending writes and whether they come from the cache.
    public let metadata: SnapshotMetadata

    private let state: SnapshotState
    private let results: Results
    private let built = Mutex<[QueryDocumentSnapshot]?>(nil)

    private enum Results: Sendable {
        /// Results of a read.
        case documents([Document])
        /// Results delivered to a listener.
        case view(ViewSnapshot)
    }

    init(
        _ query: Query, cached documents: [Document], isFromCache: Bool, readTime: SnapshotVersion
    ) {
        self.query = query
        results = .documents(documents)
        let pendingCount = documents.count(where: \.hasLocalMutations)
        state = SnapshotState(
            hasPendingWrites: pendingCount > 0, isFromCache: isFromCache, readTime: readTime)
        metadata = state.metadata(pendingDocumentCount: pendingCount)
    }

    /// Creates the results of a query that the server has run.
    init(_ query: Query, _ selected: SelectedDocuments) {
        self.query = query
        results = .documents(
            selected.documents.compactMap {
                $0.document.document(at: $0.path, readTime: selected.readTime)
            })
        state = SnapshotState(
            hasPendingWrites: false, isFromCache: false, readTime: selected.readTime)
        metadata = state.metadata(pendingDocumentCount: 0)
    }

    /// Creates the results delivered to a listener.
    init(_ query: Query, _ view: ViewSnapshot) {
        self.query = query
        results = .view(view)
        state = SnapshotState(
            hasPendingWrites: view.hasPendingWrites, isFromCache: view.isFromCache,
            readTime: view.readTime)
        metadata = state.metadata(pendingDocumentCount: view.mutatedKeys.count)
    }

    /// The number of documents.
    public var count: Int {
        switch results {
        case .documents(let documents): documents.count
        case .view(let view): view.documents.count
        }
    }

    /// Whether there are no documents.
    public var isEmpty: Bool { count == 0 }

    /// The documents in the query's order.
    ///
    /// Created on first access, in time linear in their number.
    public var documents: [QueryDocumentSnapshot] {
        built.withLock { built in
            if let built { return built }
            let made = makeDocuments()
            built = made
            return made
        }
    }

    /// The changes since the listener's previous snapshot; in the first snapshot all documents are
    /// added.
    public var documentChanges: [DocumentChange] {
        documentChanges(includeMetadataChanges: false)
    }

    /// The changes since the listener's previous snapshot, with or without changes of metadata
    /// alone.
    ///
    /// Metadata changes are available only to listeners with `includeMetadataChanges`. For other
    /// listeners, where Apple's SDK terminates the program, the remaining changes are returned and
    /// an error is logged.
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

extension QuerySnapshot: Hashable, ObjectComparable {
    /// True if queries, documents, changes and metadata are equal.
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

/// The kind of a ``DocumentChange``.
public enum DocumentChangeType: Int, Hashable, Sendable {
    /// The document entered the results.
    case added = 0
    /// The document is still in the results, with different contents or, if requested, different
    /// metadata.
    case modified = 1
    /// The document left the results; ``DocumentChange/document`` is its last state.
    case removed = 2
}

/// The change of a document between two consecutive snapshots of a query.
///
/// Applying the changes in order to the previous documents, by removing at ``oldIndex`` and
/// inserting at ``newIndex``, yields the documents of the snapshot.
public final class DocumentChange: Sendable {
    /// The kind of the change.
    public let type: DocumentChangeType

    /// The document after the change, or before it for a removed document.
    public let document: QueryDocumentSnapshot

    /// The index before this change, with all earlier changes applied; `UInt(NSNotFound)` for an
    /// added document.
    public let oldIndex: UInt

    /// The index after this change; `UInt(NSNotFound)` for a removed document.
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

extension DocumentChange: Hashable, ObjectComparable {
    /// True if kind, document and indexes are equal.
    public static func == (left: DocumentChange, right: DocumentChange) -> Bool {
        left.type == right.type && left.oldIndex == right.oldIndex
            && left.newIndex == right.newIndex && left.document == right.document
    }

    /// Hashes kind, document and indexes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(document)
        hasher.combine(oldIndex)
        hasher.combine(newIndex)
    }
}
