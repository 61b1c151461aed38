import Foundation
package import HashTreeCollections
package import LarderModel

/// Documents in the order of a query, with look-up by path.
///
/// A value whose copies share storage: a change of one copies O(log n) small nodes. Paths are
/// unique.
package struct DocumentSet: Sendable {
    package let comparator: DocumentComparator
    private var tree = DocumentTree()
    /// The documents by path; nil if they are ordered by name alone, so that the tree finds them.
    private var places: TreeDictionary<DocumentPath, StoredDocument>?

    package init(comparator: DocumentComparator) {
        self.comparator = comparator
        places = comparator.isByName ? nil : [:]
    }

    /// Creates a set, sorting the documents if necessary; the last of several documents with one
    /// path is kept.
    ///
    /// O(n) for documents in order.
    package init(_ documents: [Document], comparator: DocumentComparator) {
        self.comparator = comparator
        var sorted = documents.map(StoredDocument.init)
        var isOrdered = sorted.indices.dropFirst().allSatisfy {
            comparator.compare(sorted[$0 - 1], sorted[$0]) == .orderedAscending
        }
        if !isOrdered || !comparator.isByName {
            var places = TreeDictionary<DocumentPath, StoredDocument>()
            for stored in sorted {
                let former = places.updateValue(stored, forKey: stored.document.path)
                isOrdered = isOrdered && former == nil
            }
            if !isOrdered {
                sorted = places.values.sorted {
                    comparator.compare($0, $1) == .orderedAscending
                }
            }
            self.places = comparator.isByName ? nil : places
        }
        tree = DocumentTree(sorted: sorted)
    }

    /// The document with a path; nil if it is not in the set.
    ///
    /// O(log n).
    package func document(at path: DocumentPath) -> Document? {
        place(of: path).document
    }

    /// O(n), without hashing if the documents are not ordered by name alone.
    package var paths: TreeSet<DocumentPath> {
        if let places { return TreeSet(places.keys) }
        var paths = TreeSet<DocumentPath>()
        forEachPath { paths.insert($0) }
        return paths
    }

    package func contains(_ path: DocumentPath) -> Bool {
        place(of: path).stored != nil
    }

    /// The index of the document with a path; nil if it is not in the set.
    ///
    /// O(log n) comparisons.
    package func index(of path: DocumentPath) -> Int? {
        let place = place(of: path)
        return place.stored.map { place.offset ?? offset(of: $0) }
    }

    /// Adds a document, replacing the one with its path, if any.
    ///
    /// O(log n).
    ///
    /// - Returns: the replaced document.
    @discardableResult
    package mutating func insert(_ document: Document) -> Document? {
        let place = place(of: document.path)
        apply([(place, document)])
        return place.document
    }

    /// Removes the document with a path.
    ///
    /// O(log n).
    ///
    /// - Returns: the document; nil if it was not in the set.
    @discardableResult
    package mutating func remove(_ path: DocumentPath) -> Document? {
        let place = place(of: path)
        apply([(place, nil)])
        return place.document
    }

    private func offset(of stored: StoredDocument) -> Int {
        tree.search { comparator.compare($0, stored) }.offset
    }

    /// Whether order, balance and look-up table agree; for tests.
    package var isSound: Bool {
        guard tree.isSound, places.map({ $0.count == count }) ?? comparator.isByName else {
            return false
        }
        return zip(self, dropFirst()).allSatisfy {
            comparator.compare($0, $1) == .orderedAscending
        } && allSatisfy { document(at: $0.path) == $0 }
    }
}

// MARK: - Many changes

extension DocumentSet {
    /// Where the document with a path is in a set, or would be in the order by name.
    package struct Place: Sendable {
        fileprivate let stored: StoredDocument?
        /// The number of documents before it, if they are ordered by name alone.
        fileprivate let offset: Int?

        /// The document at the place; nil if there is none.
        package var document: Document? { stored?.document }
    }

    /// The place of a path, which is valid until the set changes.
    ///
    /// O(log n).
    package func place(of path: DocumentPath) -> Place {
        if let places { return Place(stored: places[path], offset: nil) }
        let (offset, found) = tree.search { comparator.compare($0, toName: path) }
        return Place(stored: found, offset: offset)
    }

    /// Inserts and removes many documents in one pass, given as the places of unique paths in this
    /// set with their new documents, nil for removals.
    ///
    /// O(m log(n / m)) for m changes of n documents, after O(m log m) to sort them; if documents
    /// are not ordered by name alone, after O(m log n) to find their places in the order.
    package mutating func apply(_ changes: [(place: Place, new: Document?)]) {
        var edits: [DocumentTree.Edit] = []
        edits.reserveCapacity(changes.count)
        for (place, new) in changes {
            let (old, new) = (place.stored, new.map(StoredDocument.init))
            if old == nil, new == nil { continue }
            if let offset = place.offset {
                edits.append(DocumentTree.Edit(offset: offset, removes: old != nil, added: new))
            } else {
                replace(old, with: new, &edits)
            }
        }
        edits.sort { $0.precedes($1, by: comparator) }
        tree.apply(edits)
    }

    /// Changes the document of a path in the look-up table; in the tree, it may move.
    private mutating func replace(
        _ old: StoredDocument?, with new: StoredDocument?, _ edits: inout [DocumentTree.Edit]
    ) {
        var stays = false
        if let old {
            if let new { stays = comparator.compare(old, new) == .orderedSame }
            edits.append(
                DocumentTree.Edit(
                    offset: offset(of: old), removes: true, added: stays ? new : nil))
            if new == nil { places?[old.document.path] = nil }
        }
        if let new {
            if !stays {
                edits.append(
                    DocumentTree.Edit(offset: offset(of: new), removes: false, added: new))
            }
            places?[new.document.path] = new
        }
    }
}

// MARK: - Collection

extension DocumentSet: RandomAccessCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int { tree.count }

    /// The document at an index; O(log n).
    package subscript(position: Int) -> Document {
        guard indices.contains(position) else {
            preconditionFailure("there is no document at \(position) of \(count)")
        }
        return tree[position].document
    }

    package func makeIterator() -> Iterator {
        Iterator(documents: tree.makeIterator())
    }

    /// Calls the closure with the path of each document, in order, without copying documents.
    package func forEachPath(_ body: (DocumentPath) -> Void) {
        tree.forEach { body($0.document.path) }
    }

    /// The paths of documents with pending writes, in order, without copying documents.
    package var pathsWithLocalMutations: [DocumentPath] {
        var paths: [DocumentPath] = []
        tree.forEach { if $0.document.hasLocalMutations { paths.append($0.document.path) } }
        return paths
    }

    package struct Iterator: IteratorProtocol {
        fileprivate var documents: DocumentTree.Iterator

        package mutating func next() -> Document? {
            documents.next()?.document
        }
    }
}

extension DocumentSet: Equatable {
    package static func == (left: DocumentSet, right: DocumentSet) -> Bool {
        left.tree.isIdentical(to: right.tree)
            || left.count == right.count && left.elementsEqual(right)
    }
}
