import Foundation
import LarderModel

/// A persistent list of documents in an order: a B+ tree, or one leaf while there are few.
///
/// A change copies the nodes on the way to its documents, and shares all others with the tree
/// before. Documents are found by offset or by their order in logarithmic time.
///
///     root ─┬─ inner ─┬─ leaf        Leaves have at most `maximumCount` documents, inner nodes
///           │         └─ leaf        as many children, and both at least `minimumCount`, apart
///           └─ inner ─── leaf …      from the root. All leaves have the same depth.
struct DocumentTree: Sendable {
    static let maximumCount = 32
    static let minimumCount = maximumCount / 4

    var root: Node

    /// A node is an array, so that it takes one object.
    enum Node: Sendable {
        case leaf([StoredDocument])
        case inner([Child])
    }

    /// A node with at least one document, its first document, and its count of documents.
    struct Child: Sendable {
        let node: Node
        let first: StoredDocument
        let count: Int
    }
}

/// A document that several trees and a look-up table share.
final class StoredDocument: Sendable {
    let document: Document

    init(_ document: Document) {
        self.document = document
    }
}

extension DocumentTree.Node {
    /// The number of documents.
    var count: Int {
        switch self {
        case .leaf(let documents): documents.count
        case .inner(let children): children.indices.reduce(0) { $0 + children[$1].count }
        }
    }

    /// True if both share their memory.
    fileprivate func isIdentical(to other: Self) -> Bool {
        switch (self, other) {
        case (.leaf(let left), .leaf(let right)): left.isIdentical(to: right)
        case (.inner(let left), .inner(let right)): left.isIdentical(to: right)
        default: false
        }
    }
}

extension Array {
    fileprivate func isIdentical(to other: Self) -> Bool {
        count == other.count
            && withUnsafeBytes { left in
                other.withUnsafeBytes { left.baseAddress == $0.baseAddress }
            }
    }
}

// MARK: - Reading

extension DocumentTree {
    var count: Int { root.count }

    /// The document at an offset, which must be valid; O(log n).
    subscript(offset: Int) -> StoredDocument {
        var (node, offset) = (root, offset)
        while true {
            switch node {
            case .leaf(let documents): return documents[offset]
            case .inner(let children):
                var index = 0
                while offset >= children[index].count {
                    offset -= children[index].count
                    index += 1
                }
                node = children[index].node
            }
        }
    }

    /// The number of documents before a place, and the document at that place, if any.
    ///
    /// O(log n).
    ///
    /// - Parameter order: the order of a document relative to the place.
    @inline(__always)
    func search(
        _ order: (StoredDocument) -> ComparisonResult
    ) -> (offset: Int, found: StoredDocument?) {
        var (node, before) = (root, 0)
        while true {
            switch node {
            case .leaf(let documents):
                let (index, isFound) = documents.indices.search { order(documents[$0]) }
                return (before + index, isFound ? documents[index] : nil)
            case .inner(let children):
                let (place, isFirst) = (1..<children.count).search { order(children[$0].first) }
                let index = isFirst ? place : place - 1
                for earlier in 0..<index { before += children[earlier].count }
                node = children[index].node
            }
        }
    }

    /// Calls the closure with each document, in order.
    func forEach(_ body: (StoredDocument) -> Void) {
        root.forEach(body)
    }

    /// True if both share their memory, and so have the same documents.
    func isIdentical(to other: DocumentTree) -> Bool { root.isIdentical(to: other.root) }
}

extension DocumentTree.Node {
    fileprivate func forEach(_ body: (StoredDocument) -> Void) {
        switch self {
        case .leaf(let documents): for document in documents { body(document) }
        case .inner(let children): for child in children { child.node.forEach(body) }
        }
    }
}

extension Range<Int> {
    /// The place among ascending elements with these indices, and whether there is one at it.
    ///
    /// - Parameter order: the order of the element at an index relative to the place.
    @inline(__always)
    func search(_ order: (Int) -> ComparisonResult) -> (index: Int, isFound: Bool) {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low &+ high) / 2
            switch order(middle) {
            case .orderedAscending: low = middle &+ 1
            case .orderedDescending: high = middle
            case .orderedSame: return (middle, true)
            }
        }
        return (low, false)
    }
}

extension DocumentTree: Sequence {
    /// Goes through the documents in order, in constant time each.
    struct Iterator: IteratorProtocol {
        private var documents: [StoredDocument] = []
        private var index = 0
        private var path: [(children: [Child], next: Int)] = []

        fileprivate init(_ root: Node) {
            descend(into: root)
        }

        private mutating func descend(into node: Node) {
            var node = node
            while case .inner(let children) = node {
                path.append((children, 1))
                node = children[0].node
            }
            if case .leaf(let next) = node { (documents, index) = (next, 0) }
        }

        mutating func next() -> StoredDocument? {
            if index == documents.count {
                while let (children, next) = path.popLast() {
                    guard next < children.count else { continue }
                    path.append((children, next + 1))
                    descend(into: children[next].node)
                    break
                }
            }
            guard index < documents.count else { return nil }
            defer { index += 1 }
            return documents[index]
        }
    }

    func makeIterator() -> Iterator { Iterator(root) }
}
