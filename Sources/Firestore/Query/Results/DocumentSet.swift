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
        stored(at: path)?.document
    }

    /// O(n), without hashing if the documents are not ordered by name alone.
    package var paths: TreeSet<DocumentPath> {
        if let places { return TreeSet(places.keys) }
        var paths = TreeSet<DocumentPath>()
        forEachPath { paths.insert($0) }
        return paths
    }

    package func contains(_ path: DocumentPath) -> Bool {
        stored(at: path) != nil
    }

    /// The index of the document with a path; nil if it is not in the set.
    ///
    /// O(log n) comparisons.
    package func index(of path: DocumentPath) -> Int? {
        guard let places else {
            let (offset, found) = search(path)
            return found.map { _ in offset }
        }
        return places[path].map { stored in
            tree.search { comparator.compare($0, stored) }.offset
        }
    }

    /// Adds a document, replacing the one with its path, if any.
    ///
    /// O(log n).
    ///
    /// - Returns: the replaced document.
    @discardableResult
    package mutating func insert(_ document: Document) -> Document? {
        let stored = StoredDocument(document)
        let old = places == nil ? self.stored(at: document.path) : record(stored)
        var edits = [DocumentTree.Edit.put(stored)]
        if let old, moves(old, to: stored) { edits.append(.remove(old)) }
        apply(edits)
        return old?.document
    }

    /// Removes the document with a path.
    ///
    /// O(log n).
    ///
    /// - Returns: the document; nil if it was not in the set.
    @discardableResult
    package mutating func remove(_ path: DocumentPath) -> Document? {
        guard let old = forget(path) else { return nil }
        apply([.remove(old)])
        return old.document
    }

    /// Inserts and removes many documents in one pass, given as unique paths with their new
    /// documents, nil for removals.
    ///
    /// O(m log(n / m)) for m changes of n documents in order, after O(m log n) to look them up and
    /// to sort them.
    package mutating func apply(_ changes: [(path: DocumentPath, new: Document?)]) {
        var edits: [DocumentTree.Edit] = []
        edits.reserveCapacity(changes.count)
        for (path, new) in changes {
            guard let new else {
                if let old = forget(path) { edits.append(.remove(old)) }
                continue
            }
            let stored = StoredDocument(new)
            edits.append(.put(stored))
            if let old = record(stored), moves(old, to: stored) { edits.append(.remove(old)) }
        }
        apply(edits)
    }

    private mutating func apply(_ edits: [DocumentTree.Edit]) {
        let sorted = edits.sorted {
            comparator.compare($0.document, $1.document) == .orderedAscending
        }
        tree.apply(sorted, by: comparator)
    }

    /// Whether a document with the path of another one has another place; if not, it takes the
    /// place of the former one in the tree.
    private func moves(_ old: StoredDocument, to new: StoredDocument) -> Bool {
        !comparator.isByName && comparator.compare(old, new) != .orderedSame
    }

    private func stored(at path: DocumentPath) -> StoredDocument? {
        guard let places else { return search(path).found }
        return places[path]
    }

    /// The place of a path in the order by name.
    private func search(_ path: DocumentPath) -> (offset: Int, found: StoredDocument?) {
        tree.search { comparator.compare($0, toName: path) }
    }

    /// Enters a document into the look-up table, if there is one.
    ///
    /// - Returns: the former document with its path in the table.
    private mutating func record(_ stored: StoredDocument) -> StoredDocument? {
        places?.updateValue(stored, forKey: stored.document.path) ?? nil
    }

    /// Removes a path from the look-up table, if there is one.
    ///
    /// - Returns: the document, which is still in the tree.
    private mutating func forget(_ path: DocumentPath) -> StoredDocument? {
        guard places != nil else { return search(path).found }
        return places?.removeValue(forKey: path)
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
