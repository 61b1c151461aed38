import LarderModel

/// A node of a balanced binary tree of documents, ordered from left to right.
///
/// Nodes never change: an insertion or removal makes new nodes on one path from the root and
/// shares the others. Of two siblings the heavier weighs at most three times the lighter, where
/// the weight is the number of documents plus one, so that a path has O(log n) nodes.
final class DocumentTree: Sendable {
    let left: DocumentTree?
    let right: DocumentTree?
    let stored: StoredDocument
    /// Documents in the node and below it.
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

    /// The tree with one more document, before which so many lie.
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

    /// The tree without the document before which so many lie.
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

    /// The tree with another document in the place of one.
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

    /// The document before which so many lie.
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

    /// Whether counts are right and no node is too heavy on one side.
    var isSound: Bool {
        let heavier = max(left.weight, right.weight)
        let lighter = min(left.weight, right.weight)
        return heavier <= Self.heaviestRatio * lighter && count == left.count + 1 + right.count
            && (left?.isSound ?? true) && (right?.isSound ?? true)
    }
}

extension DocumentTree? {
    /// Documents in the tree.
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
