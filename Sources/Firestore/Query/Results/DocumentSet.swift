import Foundation
package import HashTreeCollections
package import LarderModel

/// Documents in the order of a query, with look-up by path.
///
/// A value whose copies share what they have in common: after a copy was taken, a change copies
/// O(log n) small nodes and leaves the copy as it was. No two documents have one path.
package struct DocumentSet: Sendable {
    /// The order of the documents.
    package let comparator: DocumentComparator
    private(set) var root: DocumentTree?
    private var places: TreeDictionary<DocumentPath, StoredDocument>

    /// No documents.
    package init(comparator: DocumentComparator) {
        self.comparator = comparator
        places = [:]
    }

    /// Documents, which are sorted unless they are in order already; of two with one path the
    /// later one stays.
    ///
    /// O(n) when they are in order.
    package init(_ documents: [Document], comparator: DocumentComparator) {
        self.comparator = comparator
        var places = TreeDictionary<DocumentPath, StoredDocument>()
        var sorted = documents.map(StoredDocument.init)
        var isOrdered = true
        for index in sorted.indices {
            let stored = sorted[index]
            if isOrdered, index > 0 {
                isOrdered = comparator.compare(sorted[index - 1], stored) != .orderedDescending
            }
            let former = places.updateValue(stored, forKey: stored.document.path)
            isOrdered = isOrdered && former == nil
        }
        if !isOrdered {
            sorted = places.values.sorted {
                comparator.compare($0, $1) == .orderedAscending
            }
        }
        self.places = places
        root = DocumentTree.make(sorted[...])
    }

    /// The document with a path; nil when it is not in the set.
    package func document(at path: DocumentPath) -> Document? {
        places[path]?.document
    }

    /// The paths of the documents.
    ///
    /// O(n), but none of them is hashed again.
    package var paths: TreeSet<DocumentPath> { TreeSet(places.keys) }

    /// Whether a document with a path is in the set.
    package func contains(_ path: DocumentPath) -> Bool {
        places[path] != nil
    }

    /// How many documents are before the one with a path; nil when it is not in the set.
    ///
    /// O(log n) comparisons.
    package func index(of path: DocumentPath) -> Int? {
        places[path].map { position(of: $0) }
    }

    /// Adds a document, in the place of the one with its path if there is one.
    ///
    /// O(log n).
    ///
    /// - Returns: the document that was replaced.
    @discardableResult
    package mutating func insert(_ document: Document) -> Document? {
        let stored = StoredDocument(document)
        guard let old = places.updateValue(stored, forKey: document.path) else {
            root = DocumentTree.inserting(stored, at: position(of: stored), into: root)
            return nil
        }
        let index = position(of: old)
        if comparator.compare(old, stored) == .orderedSame {
            root = DocumentTree.replacing(at: index, in: root, with: stored)
        } else {
            root = DocumentTree.removing(at: index, from: root)
            root = DocumentTree.inserting(stored, at: position(of: stored), into: root)
        }
        return old.document
    }

    /// Takes the document with a path out.
    ///
    /// O(log n).
    ///
    /// - Returns: the document; nil when it was not in the set.
    @discardableResult
    package mutating func remove(_ path: DocumentPath) -> Document? {
        guard let old = places.removeValue(forKey: path) else { return nil }
        root = DocumentTree.removing(at: position(of: old), from: root)
        return old.document
    }

    /// Puts and takes out many documents in one pass: each path with its document now, nil for
    /// none, no path twice.
    ///
    /// O(m log(n / m)) for m changes of n documents, after O(m log m) to sort them.
    package mutating func apply(_ changes: some Sequence<(path: DocumentPath, new: Document?)>) {
        var (removed, added): ([StoredDocument], [StoredDocument]) = ([], [])
        for (path, new) in changes {
            let stored = new.map(StoredDocument.init)
            let old =
                if let stored {
                    places.updateValue(stored, forKey: path)
                } else {
                    places.removeValue(forKey: path)
                }
            if let old { removed.append(old) }
            if let stored { added.append(stored) }
        }
        removed.sort { comparator.compare($0, $1) == .orderedAscending }
        added.sort { comparator.compare($0, $1) == .orderedAscending }
        root = DocumentTree.changed(root, removed[...], added[...], comparator)
    }

    /// How many documents come before the place of a document.
    private func position(of document: StoredDocument) -> Int {
        var (node, before) = (root, 0)
        while let tree = node {
            if comparator.compare(tree.stored, document) == .orderedAscending {
                before += tree.left.count + 1
                node = tree.right
            } else {
                node = tree.left
            }
        }
        return before
    }

    /// Whether order, balance and look-up table agree; for tests.
    package var isSound: Bool {
        guard places.count == count, root?.isSound ?? true else { return false }
        return zip(self, dropFirst()).allSatisfy {
            comparator.compare($0, $1) == .orderedAscending
        } && allSatisfy { places[$0.path]?.document == $0 }
    }
}
