package import LarderModel

extension DocumentSet: RandomAccessCollection {
    /// 0.
    package var startIndex: Int { 0 }

    /// The number of documents.
    package var endIndex: Int { root.count }

    /// The document at a place in the order; O(log n).
    package subscript(position: Int) -> Document {
        guard let root, indices.contains(position) else {
            preconditionFailure("there is no document at \(position) of \(count)")
        }
        return root.stored(at: position).document
    }

    /// The documents one after the other, each in amortised constant time.
    package func makeIterator() -> Iterator {
        Iterator(root)
    }

    /// Calls the closure with the path of each document, in order; no document is copied.
    package func forEachPath(_ body: (DocumentPath) -> Void) {
        root?.forEach { body($0.document.path) }
    }

    /// The paths of documents that pending writes have made, in order; no document is copied.
    package var pathsWithLocalMutations: [DocumentPath] {
        var paths: [DocumentPath] = []
        root?.forEach { if $0.document.hasLocalMutations { paths.append($0.document.path) } }
        return paths
    }

    /// Goes through the documents of a set in order.
    package struct Iterator: IteratorProtocol {
        /// Nodes whose document and right side are still to come, the next one last.
        private var pending: [DocumentTree] = []

        init(_ root: DocumentTree?) {
            descend(from: root)
        }

        /// The next document; nil at the end.
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
    /// Whether both have equal documents in the same order.
    package static func == (left: DocumentSet, right: DocumentSet) -> Bool {
        left.root === right.root || left.count == right.count && left.elementsEqual(right)
    }
}
