import Foundation
package import LarderModel

/// The changes between two results of a query: at most one for each document, removals first,
/// then additions, then the others, each in the order of the query.
package struct DocumentViewChanges: Sendable {
    private enum Storage {
        /// Everything in a set was added; nothing is made for each document.
        case added(DocumentSet)
        case listed([DocumentViewChange])
    }

    private let storage: Storage

    /// No changes.
    package static let none = DocumentViewChanges(listed: [])

    /// Changes that add every document of a set; O(1).
    package init(adding documents: DocumentSet) {
        storage = .added(documents)
    }

    /// Sorts changes.
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

    /// The changes without those of metadata alone.
    package var withoutMetadata: DocumentViewChanges {
        guard case .listed(let changes) = storage,
            changes.contains(where: { $0.kind == .metadata })
        else { return self }
        return DocumentViewChanges(listed: changes.filter { $0.kind != .metadata })
    }
}

extension DocumentViewChanges: RandomAccessCollection {
    /// 0.
    package var startIndex: Int { 0 }

    /// The number of changes.
    package var endIndex: Int {
        switch storage {
        case .added(let documents): documents.count
        case .listed(let changes): changes.count
        }
    }

    /// The change at a place in the list.
    package subscript(position: Int) -> DocumentViewChange {
        switch storage {
        case .added(let documents): DocumentViewChange(.added, documents[position])
        case .listed(let changes): changes[position]
        }
    }

    /// The changes one after the other, each in amortised constant time.
    package func makeIterator() -> Iterator {
        switch storage {
        case .added(let documents): Iterator(added: documents.makeIterator(), listed: [])
        case .listed(let changes): Iterator(added: nil, listed: changes[...])
        }
    }

    /// Iterates over changes in order.
    package struct Iterator: IteratorProtocol {
        fileprivate var added: DocumentSet.Iterator?
        fileprivate var listed: ArraySlice<DocumentViewChange>

        /// The next change; nil at the end.
        package mutating func next() -> DocumentViewChange? {
            added?.next().map { DocumentViewChange(.added, $0) } ?? listed.popFirst()
        }
    }

    /// Calls the closure with the kind and the path of each change, in order; no document is
    /// copied.
    package func forEachPath(_ body: (DocumentViewChange.Kind, DocumentPath) -> Void) {
        switch storage {
        case .added(let documents): documents.forEachPath { body(.added, $0) }
        case .listed(let changes): for change in changes { body(change.kind, change.document.path) }
        }
    }
}

extension DocumentViewChanges: Equatable {
    /// True if both list equal changes.
    package static func == (left: DocumentViewChanges, right: DocumentViewChanges) -> Bool {
        left.elementsEqual(right)
    }
}

/// A change of one document in a query's result.
package struct DocumentViewChange: Sendable, Equatable {
    /// The kinds of changes, in the order in which a snapshot lists them; changes of contents and
    /// of metadata are listed among each other.
    package enum Kind: Sendable, Hashable {
        /// The document left the result.
        case removed
        /// The document entered the result.
        case added
        /// The document's fields changed.
        case modified
        /// Only the presence of pending writes changed.
        case metadata

        /// The place of changes of this kind in a snapshot's list.
        var rank: Int {
            switch self {
            case .removed: 0
            case .added: 1
            case .modified, .metadata: 2
            }
        }
    }

    /// The kind of the change.
    package let kind: Kind
    /// The document as it is now; as it was last in the result when it was removed.
    package let document: Document

    /// A change of a document.
    package init(_ kind: Kind, _ document: Document) {
        self.kind = kind
        self.document = document
    }
}

/// Collects changes of documents and merges those of one document into one.
package struct DocumentChangeSet: Sendable {
    /// The changes in the order in which their documents came, near that of a snapshot; nil for
    /// those that never happened.
    private var changes: [DocumentViewChange?] = []
    private var positions: [DocumentPath: Int] = [:]

    /// No changes, or those that were collected before.
    package init(_ changes: some Sequence<DocumentViewChange> = EmptyCollection()) {
        for change in changes { add(change) }
    }

    /// True if nothing has changed.
    package var isEmpty: Bool { changes.allSatisfy { $0 == nil } }

    /// Adds a change that comes after those collected so far.
    ///
    /// An addition followed by a removal is dropped, and a removal followed by an addition becomes
    /// a modification. A removal after a modification gives the document of the modification, one
    /// after a change of metadata its own.
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
    /// The value of a key, which gets this one unless it has one.
    fileprivate mutating func value(of key: Key, orNew new: Value) -> Value {
        func get(_ value: inout Value?) -> Value {
            if let value { return value }
            value = new
            return new
        }
        return get(&self[key])
    }
}
