import Foundation
import LarderModel

/// A node of a balanced binary tree of documents, ordered from left to right.
///
/// Nodes are immutable: an insertion or removal creates new nodes on one path from the root and
/// shares the others. Of two siblings the heavier weighs at most three times the lighter, where the
/// weight is the number of documents plus one, so that a path has O(log n) nodes.
final class DocumentTree: Sendable {
    let left: DocumentTree?
    let right: DocumentTree?
    let stored: StoredDocument
    /// The number of documents in the node and below it.
    let count: Int

    init(_ left: DocumentTree?, _ stored: StoredDocument, _ right: DocumentTree?) {
        self.left = left
        self.right = right
        self.stored = stored
        count = left.count + 1 + right.count
    }

    /// A balanced tree of documents that are in order; O(n).
    static func make(_ documents: ArraySlice<StoredDocument>) -> DocumentTree? {
        guard !documents.isEmpty else { return nil }
        let middle = (documents.startIndex + documents.endIndex) / 2
        return DocumentTree(
            make(documents[..<middle]), documents[middle], make(documents[(middle + 1)...]))
    }

    static let heaviestRatio = 3
    private static let singleRotationRatio = 2

    /// A node over two trees, one of which has gained or lost one document since both were
    /// balanced.
    static func balanced(
        _ left: DocumentTree?, _ stored: StoredDocument, _ right: DocumentTree?
    ) -> DocumentTree {
        if let right, right.weight > heaviestRatio * left.weight {
            if let inner = right.left, inner.weight >= singleRotationRatio * right.right.weight {
                return DocumentTree(
                    DocumentTree(left, stored, inner.left), inner.stored,
                    DocumentTree(inner.right, right.stored, right.right))
            }
            return DocumentTree(
                DocumentTree(left, stored, right.left), right.stored, right.right)
        }
        if let left, left.weight > heaviestRatio * right.weight {
            if let inner = left.right, inner.weight >= singleRotationRatio * left.left.weight {
                return DocumentTree(
                    DocumentTree(left.left, left.stored, inner.left), inner.stored,
                    DocumentTree(inner.right, stored, right))
            }
            return DocumentTree(
                left.left, left.stored, DocumentTree(left.right, stored, right))
        }
        return DocumentTree(left, stored, right)
    }

    /// The tree with one more document, at an index.
    static func inserting(
        _ stored: StoredDocument, at index: Int, into tree: DocumentTree?
    ) -> DocumentTree {
        guard let tree else { return DocumentTree(nil, stored, nil) }
        let leftCount = tree.left.count
        if index <= leftCount {
            return balanced(
                inserting(stored, at: index, into: tree.left), tree.stored, tree.right)
        }
        return balanced(
            tree.left, tree.stored,
            inserting(stored, at: index - leftCount - 1, into: tree.right))
    }

    static func removing(at index: Int, from tree: DocumentTree?) -> DocumentTree? {
        guard let tree else { return nil }
        let leftCount = tree.left.count
        if index < leftCount {
            return balanced(removing(at: index, from: tree.left), tree.stored, tree.right)
        }
        if index > leftCount {
            return balanced(
                tree.left, tree.stored, removing(at: index - leftCount - 1, from: tree.right))
        }
        guard let left = tree.left else { return tree.right }
        guard let next = tree.right?.leftmost else { return left }
        return balanced(left, next, removing(at: 0, from: tree.right))
    }

    /// The tree with one document replaced.
    static func replacing(
        at index: Int, in tree: DocumentTree?, with stored: StoredDocument
    ) -> DocumentTree? {
        guard let tree else { return nil }
        let leftCount = tree.left.count
        if index < leftCount {
            return DocumentTree(
                replacing(at: index, in: tree.left, with: stored), tree.stored, tree.right)
        }
        if index > leftCount {
            return DocumentTree(
                tree.left, tree.stored,
                replacing(at: index - leftCount - 1, in: tree.right, with: stored))
        }
        return DocumentTree(tree.left, stored, tree.right)
    }

    func stored(at index: Int) -> StoredDocument {
        let leftCount = left.count
        if index < leftCount, let left { return left.stored(at: index) }
        if index > leftCount, let right { return right.stored(at: index - leftCount - 1) }
        return stored
    }

    /// Calls the closure with each document, in order.
    func forEach(_ body: (StoredDocument) -> Void) {
        left?.forEach(body)
        body(stored)
        right?.forEach(body)
    }

    var leftmost: StoredDocument {
        var node = self
        while let left = node.left { node = left }
        return node.stored
    }

    /// Whether all counts and weights are valid.
    var isSound: Bool {
        let heavier = max(left.weight, right.weight)
        let lighter = min(left.weight, right.weight)
        return heavier <= Self.heaviestRatio * lighter && count == left.count + 1 + right.count
            && (left?.isSound ?? true) && (right?.isSound ?? true)
    }
}

extension DocumentTree? {
    var count: Int { self?.count ?? 0 }

    var weight: Int { count + 1 }
}

extension DocumentTree {
    var weight: Int { count + 1 }
}

/// A document that a tree and a look-up table share.
final class StoredDocument: Sendable {
    let document: Document

    init(_ document: Document) {
        self.document = document
    }
}

extension DocumentTree {
    /// The tree without some of its documents and with others; both lists are in order.
    static func changed(
        _ tree: DocumentTree?, _ removed: ArraySlice<StoredDocument>,
        _ added: ArraySlice<StoredDocument>, _ comparator: DocumentComparator
    ) -> DocumentTree? {
        guard let tree else { return make(added) }
        if removed.isEmpty, added.isEmpty { return tree }
        let removed = Parting(removed, at: tree.stored, comparator)
        let added = Parting(added, at: tree.stored, comparator)
        let left = changed(tree.left, removed.before, added.before, comparator)
        let right = changed(tree.right, removed.after, added.after, comparator)
        let stays = removed.equal == nil ? tree.stored : nil
        guard let middle = added.equal ?? stays else { return joined(left, right) }
        return joined(left, middle, right)
    }

    /// The concatenation of two trees with a document in between; logarithmic in the ratio of their
    /// weights.
    private static func joined(
        _ left: DocumentTree?, _ middle: StoredDocument, _ right: DocumentTree?
    ) -> DocumentTree {
        if let right, right.weight > heaviestRatio * left.weight {
            return balanced(joined(left, middle, right.left), right.stored, right.right)
        }
        if let left, left.weight > heaviestRatio * right.weight {
            return balanced(left.left, left.stored, joined(left.right, middle, right))
        }
        return DocumentTree(left, middle, right)
    }

    /// The concatenation of two trees.
    private static func joined(_ left: DocumentTree?, _ right: DocumentTree?) -> DocumentTree? {
        guard let middle = right?.leftmost else { return left }
        return joined(left, middle, removing(at: 0, from: right))
    }

    /// A split of ordered documents at the position of one: those before, at and after it.
    private struct Parting {
        let before: ArraySlice<StoredDocument>
        let equal: StoredDocument?
        let after: ArraySlice<StoredDocument>

        init(
            _ documents: ArraySlice<StoredDocument>, at middle: StoredDocument,
            _ comparator: DocumentComparator
        ) {
            var (low, high) = (documents.startIndex, documents.endIndex)
            while low < high {
                let index = (low + high) / 2
                switch comparator.compare(documents[index], middle) {
                case .orderedAscending: low = index + 1
                case .orderedDescending: high = index
                case .orderedSame:
                    before = documents[..<index]
                    equal = documents[index]
                    after = documents[(index + 1)...]
                    return
                }
            }
            before = documents[..<low]
            equal = nil
            after = documents[low...]
        }
    }
}
