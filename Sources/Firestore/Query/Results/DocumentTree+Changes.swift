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

    /// A change of a tree.
    enum Edit {
        /// The document enters the tree, in place of one in the same place, if any.
        case put(StoredDocument)
        /// The document in the place of this one leaves the tree.
        case remove(StoredDocument)

        var document: StoredDocument {
            switch self {
            case .put(let document), .remove(let document): document
            }
        }
    }

    /// Applies edits of different places, which are in order, in one pass.
    ///
    /// O(m log(n / m)) for m edits of n documents.
    mutating func apply(_ edits: [Edit], by comparator: DocumentComparator) {
        guard !edits.isEmpty else { return }
        self = Self(level: root.changed(by: edits[...], comparator))
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
    /// The nodes that take the place of this one, which have its height and no documents twice.
    ///
    /// A single one may have too few members; several have not.
    fileprivate func changed(
        by edits: ArraySlice<DocumentTree.Edit>, _ comparator: DocumentComparator
    ) -> [Self] {
        switch self {
        case .leaf(let documents):
            Self.leaves(of: Self.changed(documents, by: edits, comparator))
        case .inner(let children):
            Self.inners(of: Self.changed(children, by: edits, comparator))
        }
    }

    private static func changed(
        _ documents: [StoredDocument], by edits: ArraySlice<DocumentTree.Edit>,
        _ comparator: DocumentComparator
    ) -> [StoredDocument] {
        var result: [StoredDocument] = []
        result.reserveCapacity(documents.count + edits.count)
        var next = 0
        for edit in edits {
            let (index, isFound) = (next..<documents.count).search {
                comparator.compare(documents[$0], edit.document)
            }
            result += documents[next..<index]
            if case .put(let document) = edit { result.append(document) }
            next = isFound ? index + 1 : index
        }
        result += documents[next...]
        return result
    }

    private static func changed(
        _ children: [DocumentTree.Child], by edits: ArraySlice<DocumentTree.Edit>,
        _ comparator: DocumentComparator
    ) -> [DocumentTree.Child] {
        var result: [DocumentTree.Child] = []
        result.reserveCapacity(children.count + 1)
        var (next, rest, hasSparse) = (0, edits, false)
        while let edit = rest.first {
            let index = (next..<children.count).indexOfChild {
                comparator.compare(children[$0].first, edit.document)
            }
            result += children[next..<index]
            next = index + 1
            var end = rest.endIndex
            if next < children.count {
                end = rest.indices.search {
                    comparator.compare(rest[$0].document, children[next].first)
                }.index
            }
            for node in children[index].node.changed(by: rest[..<end], comparator) {
                result.append(DocumentTree.Child(node))
                hasSparse = hasSparse || node.isSparse
            }
            rest = rest[end...]
        }
        result += children[next...]
        return hasSparse ? balanced(result) : result
    }
}

// MARK: - Balance

extension DocumentTree.Node {
    /// Whether the node has too few members, unless it is the root.
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
        // The only child of a node has had no neighbour yet.
        case (.inner(let left), .inner(let right)): Self.inners(of: Self.balanced(left + right))
        default: [self, next]
        }
    }
}

// MARK: - Tests

extension DocumentTree {
    /// Whether the sizes and depths of all nodes are valid, and what is known of children is true.
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
