import Synchronization

/// A node with children: the children, the priority, and what is computed of both on demand.
final class Branch: Sendable {
    let children: SortedTree<Child>
    let priority: Priority
    let summary: ChildrenSummary
    private let cache: Mutex<Cache>

    private struct Cache {
        var digest: SHA1.Digest?
        var indexes: [CachedIndex] = []
    }

    /// The positions of all children in the order of an index.
    struct CachedIndex: Sendable {
        let index: NodeIndex
        var positions: SortedTree<IndexPosition>
    }

    /// A branch of children, at least one.
    ///
    /// - Parameters:
    ///   - digest: that of ``Node/hash``, if it is known.
    ///   - indexes: the known indexes.
    init(
        _ children: SortedTree<Child>, _ priority: Priority, digest: SHA1.Digest? = nil,
        indexes: [CachedIndex] = []
    ) {
        self.children = children
        self.priority = priority
        summary = children.summary
        cache = Mutex(Cache(digest: digest, indexes: indexes))
    }

    /// The digest that ``Node/hash`` is the text of, if it was computed.
    var knownDigest: SHA1.Digest? { cache.withLock { $0.digest } }

    /// The digest that ``Node/hash`` is the text of.
    func digest(_ compute: () -> SHA1.Digest) -> SHA1.Digest {
        if let knownDigest { return knownDigest }
        let digest = compute()
        cache.withLock { $0.digest = digest }
        return digest
    }

    // MARK: Indexes

    /// How many indexes are kept; the oldest is dropped.
    private static let maximumIndexes = 8

    /// True if an index orders the children by their keys alone.
    func isOrderedByKey(in index: NodeIndex) -> Bool {
        index == .key || index == .priority && !summary.hasPriorities
    }

    /// The positions of the children in an index, which does not order them by their keys alone.
    ///
    /// Computed once, and brought up to date with each change.
    func positions(in index: NodeIndex) -> SortedTree<IndexPosition> {
        cachedPositions(in: index)
            ?? keep(children.map { index.position(of: $0) }.sorted(), of: index)
    }

    /// How many positions are computed or compared between two calls of a check.
    private static let checkedCount = 4_096

    /// Like ``positions(in:)``, for many children.
    ///
    /// - Parameter check: called every now and then; throws to end the computation.
    func positions(
        in index: NodeIndex, _ check: () throws(LarderError) -> Void
    ) throws(LarderError) -> SortedTree<IndexPosition> {
        if let cached = cachedPositions(in: index) { return cached }
        var count = 0
        func step() throws(LarderError) {
            count += 1
            if count % Self.checkedCount == 0 { try check() }
        }
        var positions: [IndexPosition] = []
        positions.reserveCapacity(children.count)
        for child in children {
            try step()
            positions.append(index.position(of: child))
        }
        do {
            try positions.sort { left, right in
                try step()
                return left < right
            }
        } catch let error as LarderError {
            throw error
        } catch {
            throw LarderError(realtime: .internal, "\(error)", cause: error)
        }
        return keep(positions, of: index)
    }

    private func cachedPositions(in index: NodeIndex) -> SortedTree<IndexPosition>? {
        cache.withLock { $0.indexes.first { $0.index == index }?.positions }
    }

    private func keep(_ sorted: [IndexPosition], of index: NodeIndex) -> SortedTree<IndexPosition> {
        let positions = SortedTree(sorted: sorted)
        cache.withLock { cache in
            guard !cache.indexes.contains(where: { $0.index == index }) else { return }
            if cache.indexes.count == Self.maximumIndexes { cache.indexes.removeFirst() }
            cache.indexes.append(CachedIndex(index: index, positions: positions))
        }
        return positions
    }

    // MARK: Changes

    /// The node with another child at a key, or without the child there.
    func replacing(_ key: ChildKey, with node: Node) -> Node {
        let old = children[key: key]
        if old == nil && node.isEmpty { return Node(storage: .branch(self)) }
        let new = node.isEmpty ? nil : Child(key, node)
        var children = children
        if let new { children.insert(new) } else { children.remove(key) }
        guard !children.isEmpty else { return .empty }
        var indexes = cache.withLock { $0.indexes }
        for place in indexes.indices { indexes[place].replace(old, with: new) }
        return Node(storage: .branch(Branch(children, priority, indexes: indexes)))
    }

    /// The node with another priority.
    func withPriority(_ priority: Priority) -> Node {
        Node(storage: .branch(Branch(children, priority, indexes: cache.withLock { $0.indexes })))
    }
}

extension Branch.CachedIndex {
    fileprivate mutating func replace(_ old: Child?, with new: Child?) {
        let oldPosition = old.map { index.position(of: $0) }
        let newPosition = new.map { index.position(of: $0) }
        if oldPosition == newPosition { return }
        if let oldPosition { positions.remove(oldPosition) }
        if let newPosition { positions.insert(newPosition) }
    }
}

extension IndexPosition: SortedTreeElement {
    /// Nothing is known of positions together.
    struct NoSummary: SortedTreeSummary {
        mutating func add(_ other: NoSummary) {}
    }

    typealias Checkpoint = Never
    typealias Packed = Never

    var sortKey: IndexPosition { self }
    var summary: NoSummary { NoSummary() }

    static func order(_ left: IndexPosition, _ right: IndexPosition) -> Int {
        left.order(to: right)
    }
}

extension Never: PackedElements {
    init?(_ elements: some Collection<IndexPosition>) { return nil }

    var count: Int { switch self {} }
    var summary: IndexPosition.Summary { switch self {} }
    var address: UnsafeRawPointer? { switch self {} }

    subscript(index: Int) -> IndexPosition { switch self {} }

    func order(at index: Int, to key: IndexPosition) -> Int { switch self {} }
    var expanded: [IndexPosition]? { switch self {} }
    func replacing(_ range: Range<Int>, with element: IndexPosition?) -> Never? { nil }
}
