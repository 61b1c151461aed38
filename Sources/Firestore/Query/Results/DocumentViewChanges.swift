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

    /// Says that every document of a set was added; O(1).
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

    /// Goes through changes in order.
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
    /// Whether both list equal changes.
    package static func == (left: DocumentViewChanges, right: DocumentViewChanges) -> Bool {
        left.elementsEqual(right)
    }
}
