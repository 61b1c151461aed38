import Foundation

/// Many changes in one pass: a part of the tree that none of them falls into is shared as it is.
extension DocumentTree {
    /// The tree without some of its documents and with others; both are in order.
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

    /// A tree of all documents of two, between which one lies; O(log) of how much heavier one is.
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

    /// A tree of all documents of two, one after the other.
    private static func joined(_ left: DocumentTree?, _ right: DocumentTree?) -> DocumentTree? {
        guard let middle = right?.leftmost else { return left }
        return joined(left, middle, removing(at: 0, from: right))
    }

    /// What of documents in order is before, at and after the place of one.
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
