import Foundation

extension DocumentTree {
    /// A tree without documents.
    init() {
        root = .leaf([])
    }

    /// A tree of documents that are in order; O(n).
    init(sorted documents: [StoredDocument]) {
        self.init(level: Node.leaves(of: documents))
    }

    /// A change at one place of a tree.
    struct Edit {
        /// The number of documents of the tree before the place.
        let offset: Int
        /// True if the document at the place is removed.
        let removes: Bool
        /// The document that is inserted at the place, if any.
        let added: StoredDocument?

        /// True if the change is made before another one of the same pass.
        func precedes(_ other: Self, by comparator: DocumentComparator) -> Bool {
            if offset != other.offset { return offset < other.offset }
            if removes != other.removes { return other.removes }
            guard let added, let next = other.added else { return false }
            return comparator.compare(added, next) == .orderedAscending
        }
    }

    /// Makes changes, which are in order, in one pass.
    ///
    /// O(m log(n / m)) for m changes of n documents.
    mutating func apply(_ edits: [Edit]) {
        guard !edits.isEmpty else { return }
        self = Self(level: root.changed(by: edits[...], from: 0))
    }

    /// A tree over nodes of one height, which are in order.
    private init(level: [Node]) {
        var level = level
        while level.count > 1 { level = Node.inners(of: level.map { Child($0) }) }
        root = level.first ?? .leaf([])
        while case .inner(let children) = root, children.count == 1 { root = children[0].node }
    }
}

extension DocumentTree.Child {
    /// - Parameter node: a node that is not empty.
    fileprivate init(_ node: DocumentTree.Node) {
        self.node = node
        count = node.count
        switch node {
        case .leaf(let documents): first = documents[0]
        case .inner(let children): first = children[0].first
        }
    }
}

extension DocumentTree.Node {
    /// The nodes that replace this one after changes; they have its height.
    ///
    /// If there is only one, it may have fewer members than ``DocumentTree/minimumCount``.
    ///
    /// - Parameter start: the number of documents of the tree before this node.
    fileprivate func changed(by edits: ArraySlice<DocumentTree.Edit>, from start: Int) -> [Self] {
        switch self {
        case .leaf(let documents):
            Self.leaves(of: Self.changed(documents, by: edits, from: start))
        case .inner(let children):
            Self.inners(of: Self.changed(children, by: edits, from: start))
        }
    }

    private static func changed(
        _ documents: [StoredDocument], by edits: ArraySlice<DocumentTree.Edit>, from start: Int
    ) -> [StoredDocument] {
        var result: [StoredDocument] = []
        result.reserveCapacity(documents.count + edits.count)
        var next = 0
        // Of several removals of one document the first counts.
        for edit in edits where edit.offset - start >= next {
            let index = edit.offset - start
            result += documents[next..<index]
            if let added = edit.added { result.append(added) }
            next = edit.removes ? index + 1 : index
        }
        result += documents[next...]
        return result
    }

    private static func changed(
        _ children: [DocumentTree.Child], by edits: ArraySlice<DocumentTree.Edit>, from start: Int
    ) -> [DocumentTree.Child] {
        var result: [DocumentTree.Child] = []
        result.reserveCapacity(children.count + 1)
        var (next, end, rest, hasSparse) = (0, start, edits, false)
        for index in children.indices {
            let start = end
            end += children[index].count
            // A document that is inserted between two children goes to the second one.
            let isLast = index == children.count - 1
            let own = isLast ? rest : rest.prefix { $0.offset < end }
            guard !own.isEmpty else { continue }
            rest = rest[own.endIndex...]
            result += children[next..<index]
            next = index + 1
            for node in children[index].node.changed(by: own, from: start) {
                result.append(DocumentTree.Child(node))
                hasSparse = hasSparse || node.isSparse
            }
        }
        result += children[next...]
        return hasSparse ? balanced(result) : result
    }
}

// MARK: - Balance

extension DocumentTree.Node {
    /// True if the node has fewer members than nodes other than the root may have.
    var isSparse: Bool {
        switch self {
        case .leaf(let documents): documents.count < DocumentTree.minimumCount
        case .inner(let children): children.count < DocumentTree.minimumCount
        }
    }

    /// Leaves with documents; none for none.
    fileprivate static func leaves(of documents: [StoredDocument]) -> [Self] {
        parts(of: documents).map { .leaf($0) }
    }

    /// Inner nodes over children; none for none.
    fileprivate static func inners(of children: [DocumentTree.Child]) -> [Self] {
        parts(of: children).map { .inner($0) }
    }

    /// Members in as few nodes as leave room for some insertions each, unless they fit into one.
    private static func parts<Member>(of members: [Member]) -> [[Member]] {
        if members.count <= DocumentTree.maximumCount { return members.isEmpty ? [] : [members] }
        let roomyCount = DocumentTree.maximumCount * 3 / 4
        let count = (members.count + roomyCount - 1) / roomyCount
        return (0..<count).map {
            Array(members[members.count * $0 / count..<members.count * ($0 + 1) / count])
        }
    }

    /// The children with each sparse one joined with a neighbour; a single one stays as it is.
    private static func balanced(_ children: [DocumentTree.Child]) -> [DocumentTree.Child] {
        var result: [DocumentTree.Child] = []
        result.reserveCapacity(children.count)
        for child in children {
            guard let last = result.last, last.node.isSparse || child.node.isSparse else {
                result.append(child)
                continue
            }
            result.removeLast()
            result += last.node.joined(with: child.node).map { DocumentTree.Child($0) }
        }
        return result
    }

    /// One or two nodes with the members of this one and of the next one, which has its height.
    private func joined(with next: Self) -> [Self] {
        switch (self, next) {
        case (.leaf(let left), .leaf(let right)): Self.leaves(of: left + right)
        // A sparse node that was the only child could not be joined before.
        case (.inner(let left), .inner(let right)): Self.inners(of: Self.balanced(left + right))
        default: [self, next]
        }
    }
}

// MARK: - Tests

extension DocumentTree {
    /// True if all nodes have valid sizes and depths, and each child its right count and first document.
    var isSound: Bool {
        switch root {
        case .leaf(let documents): documents.count <= Self.maximumCount
        case .inner(let children): children.count > 1 && root.soundHeight != nil
        }
    }
}

extension DocumentTree.Node {
    /// The number of levels below the node; nil unless all of its descendants are valid.
    fileprivate var soundHeight: Int? {
        switch self {
        case .leaf(let documents):
            return documents.count <= DocumentTree.maximumCount ? 0 : nil
        case .inner(let children):
            guard children.count <= DocumentTree.maximumCount else { return nil }
            var heights: Set<Int?> = []
            for child in children {
                let known = DocumentTree.Child(child.node)
                guard !child.node.isSparse, known.first === child.first,
                    known.count == child.count
                else { return nil }
                heights.insert(child.node.soundHeight)
            }
            guard heights.count == 1, let height = heights.first ?? nil else { return nil }
            return height + 1
        }
    }
}
