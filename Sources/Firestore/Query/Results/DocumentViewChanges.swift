import Foundation
package import LarderModel

/// The changes between two results of a query: at most one per document; removals first, then
/// additions, then the others, each in the order of the query.
package struct DocumentViewChanges: Sendable {
    private enum Storage {
        /// Every document of a set was added; represented without individual changes.
        case added(DocumentSet)
        case listed([DocumentViewChange])
    }

    private let storage: Storage

    package static let none = DocumentViewChanges(listed: [])

    /// Changes that add every document of a set; O(1).
    package init(adding documents: DocumentSet) {
        storage = .added(documents)
    }

    package init(_ changes: some Sequence<DocumentViewChange>, by comparator: DocumentComparator) {
        self.init(
            listed: changes.sorted {
                $0.kind.rank != $1.kind.rank
                    ? $0.kind.rank < $1.kind.rank
                    : comparator.compare($0.document, $1.document) == .orderedAscending
            })
    }

    private init(listed: [DocumentViewChange]) {
        storage = .listed(listed)
    }

    /// The changes without those of metadata only.
    package var withoutMetadata: DocumentViewChanges {
        guard case .listed(let changes) = storage,
            changes.contains(where: { $0.kind == .metadata })
        else { return self }
        return DocumentViewChanges(listed: changes.filter { $0.kind != .metadata })
    }
}

extension DocumentViewChanges: RandomAccessCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int {
        switch storage {
        case .added(let documents): documents.count
        case .listed(let changes): changes.count
        }
    }

    package subscript(position: Int) -> DocumentViewChange {
        switch storage {
        case .added(let documents): DocumentViewChange(.added, documents[position])
        case .listed(let changes): changes[position]
        }
    }

    package func makeIterator() -> Iterator {
        switch storage {
        case .added(let documents): Iterator(added: documents.makeIterator(), listed: [])
        case .listed(let changes): Iterator(added: nil, listed: changes[...])
        }
    }

    package struct Iterator: IteratorProtocol {
        fileprivate var added: DocumentSet.Iterator?
        fileprivate var listed: ArraySlice<DocumentViewChange>

        package mutating func next() -> DocumentViewChange? {
            added?.next().map { DocumentViewChange(.added, $0) } ?? listed.popFirst()
        }
    }

    /// Calls the closure with the kind and the path of each change, in order, without copying
    /// documents.
    package func forEachPath(_ body: (DocumentViewChange.Kind, DocumentPath) -> Void) {
        switch storage {
        case .added(let documents): documents.forEachPath { body(.added, $0) }
        case .listed(let changes): for change in changes { body(change.kind, change.document.path) }
        }
    }
}

extension DocumentViewChanges: Equatable {
    package static func == (left: DocumentViewChanges, right: DocumentViewChanges) -> Bool {
        left.elementsEqual(right)
    }
}

/// A change of one document in a query's result.
package struct DocumentViewChange: Sendable, Equatable {
    /// The kinds of changes, in their order in a snapshot; changes of contents and metadata are
    /// interleaved.
    package enum Kind: Sendable, Hashable {
        /// The document left the result.
        case removed
        /// The document entered the result.
        case added
        /// The document's fields changed.
        case modified
        /// Only the presence of pending writes changed.
        case metadata

        /// The position of changes of this kind in a snapshot.
        var rank: Int {
            switch self {
            case .removed: 0
            case .added: 1
            case .modified, .metadata: 2
            }
        }
    }

    package let kind: Kind
    /// The current document; for a removal, the last one in the result.
    package let document: Document

    package init(_ kind: Kind, _ document: Document) {
        self.kind = kind
        self.document = document
    }
}

/// Collects changes of documents and merges those of one document into one.
package struct DocumentChangeSet: Sendable {
    /// The changes in the order of their documents' arrival, close to that of a snapshot; nil for
    /// cancelled ones.
    private var changes: [DocumentViewChange?] = []
    private var positions: [DocumentPath: Int] = [:]

    package init(_ changes: some Sequence<DocumentViewChange> = EmptyCollection()) {
        for change in changes { add(change) }
    }

    package var isEmpty: Bool { changes.allSatisfy { $0 == nil } }

    /// Adds a later change.
    ///
    /// An addition followed by a removal is dropped, and a removal followed by an addition becomes
    /// a modification. A removal after a modification reports the modified document, one after a
    /// change of metadata its own.
    package mutating func add(_ change: DocumentViewChange) {
        let end = changes.count
        let position = positions.value(of: change.document.path, orNew: end)
        if position == end {
            changes.append(change)
        } else {
            changes[position] = changes[position].map { Self.merged($0, change) } ?? change
        }
    }

    private static func merged(
        _ old: DocumentViewChange, _ new: DocumentViewChange
    ) -> DocumentViewChange? {
        switch (old.kind, new.kind) {
        case (.added, .removed): nil
        case (.added, _): DocumentViewChange(.added, new.document)
        case (.modified, .metadata): DocumentViewChange(.modified, new.document)
        case (.modified, .removed): DocumentViewChange(.removed, old.document)
        case (.removed, .added): DocumentViewChange(.modified, new.document)
        case (.metadata, _), (.modified, _), (.removed, _): new
        }
    }

    /// The changes in the order of a snapshot.
    package func sorted(by comparator: DocumentComparator) -> DocumentViewChanges {
        DocumentViewChanges(changes.lazy.compactMap(\.self), by: comparator)
    }
}

extension Dictionary {
    /// The value of a key, which is inserted if absent.
    fileprivate mutating func value(of key: Key, orNew new: Value) -> Value {
        func get(_ value: inout Value?) -> Value {
            if let value { return value }
            value = new
            return new
        }
        return get(&self[key])
    }
}
