import Foundation
package import HashTreeCollections
package import LarderModel

/// Documents in the order of a query, with look-up by path.
///
/// A value whose copies share storage: a change of one copies O(log n) small nodes. Paths are
/// unique.
package struct DocumentSet: Sendable {
    package let comparator: DocumentComparator
    private(set) var root: DocumentTree?
    private var places: TreeDictionary<DocumentPath, StoredDocument>

    package init(comparator: DocumentComparator) {
        self.comparator = comparator
        places = [:]
    }

    /// Creates a set, sorting the documents if necessary; the last of several documents with one
    /// path is kept.
    ///
    /// O(n) for documents in order.
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

    /// The document with a path; nil if it is not in the set.
    package func document(at path: DocumentPath) -> Document? {
        places[path]?.document
    }

    /// O(n), without hashing.
    package var paths: TreeSet<DocumentPath> { TreeSet(places.keys) }

    package func contains(_ path: DocumentPath) -> Bool {
        places[path] != nil
    }

    /// The index of the document with a path; nil if it is not in the set.
    ///
    /// O(log n) comparisons.
    package func index(of path: DocumentPath) -> Int? {
        places[path].map { position(of: $0) }
    }

    /// Adds a document, replacing the one with its path, if any.
    ///
    /// O(log n).
    ///
    /// - Returns: the replaced document.
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

    /// Removes the document with a path.
    ///
    /// O(log n).
    ///
    /// - Returns: the document; nil if it was not in the set.
    @discardableResult
    package mutating func remove(_ path: DocumentPath) -> Document? {
        guard let old = places.removeValue(forKey: path) else { return nil }
        root = DocumentTree.removing(at: position(of: old), from: root)
        return old.document
    }

    /// Inserts and removes many documents in one pass, given as unique paths with their new
    /// documents, nil for removals.
    ///
    /// O(m log(n / m)) for m changes of n documents, after O(m log m) to sort them.
    package mutating func apply(_ changes: [(path: DocumentPath, new: Document?)]) {
        var (removed, added): ([StoredDocument], [StoredDocument]) = ([], [])
        for (path, new) in changes {
            guard let new else {
                if let old = places.removeValue(forKey: path) { removed.append(old) }
                continue
            }
            let stored = StoredDocument(new)
            added.append(stored)
            // One that keeps its position takes the place of the former document in the tree.
            if let old = places.updateValue(stored, forKey: path),
                comparator.compare(old, stored) != .orderedSame
            {
                removed.append(old)
            }
        }
        removed.sort { comparator.compare($0, $1) == .orderedAscending }
        added.sort { comparator.compare($0, $1) == .orderedAscending }
        root = DocumentTree.changed(root, removed[...], added[...], comparator)
    }

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

// MARK: - Collection

extension DocumentSet: RandomAccessCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int { root.count }

    /// The document at an index; O(log n).
    package subscript(position: Int) -> Document {
        guard let root, indices.contains(position) else {
            preconditionFailure("there is no document at \(position) of \(count)")
        }
        return root.stored(at: position).document
    }

    package func makeIterator() -> Iterator {
        Iterator(root)
    }

    /// Calls the closure with the path of each document, in order, without copying documents.
    package func forEachPath(_ body: (DocumentPath) -> Void) {
        root?.forEach { body($0.document.path) }
    }

    /// The paths of documents with pending writes, in order, without copying documents.
    package var pathsWithLocalMutations: [DocumentPath] {
        var paths: [DocumentPath] = []
        root?.forEach { if $0.document.hasLocalMutations { paths.append($0.document.path) } }
        return paths
    }

    package struct Iterator: IteratorProtocol {
        /// Nodes whose document and right side are pending, next one last.
        private var pending: [DocumentTree] = []

        init(_ root: DocumentTree?) {
            descend(from: root)
        }

        package mutating func next() -> Document? {
            guard let node = pending.popLast() else { return nil }
            descend(from: node.right)
            return node.stored.document
        }

        private mutating func descend(from tree: DocumentTree?) {
            var node = tree
            while let tree = node {
                pending.append(tree)
                node = tree.left
            }
        }
    }
}

extension DocumentSet: Equatable {
    package static func == (left: DocumentSet, right: DocumentSet) -> Bool {
        left.root === right.root || left.count == right.count && left.elementsEqual(right)
    }
}
