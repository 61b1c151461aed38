import Synchronization

extension SortedTree {
    /// Adds an element, in place of one with the same key.
    ///
    /// Complexity: logarithmic.
    mutating func insert(_ element: Element) {
        let (first, second) = root.inserting(element)
        guard let second else {
            root = first
            return
        }
        root = .block(Block([Slot(first), Slot(second)]))
    }

    /// Removes the element of a key, if there is one.
    ///
    /// Complexity: logarithmic.
    mutating func remove(_ key: Element.SortKey) {
        guard let remaining = root.removing(key) else { return }
        root = remaining
        while case .block(let block) = root, block.slots.count == 1 {
            root = block.slots[0].subtree
        }
    }
}

extension SortedTree.Subtree {
    private typealias Tree = SortedTree<Element>

    /// The subtree with an element, split in two if it became too large.
    fileprivate func inserting(_ element: Element) -> (Self, Self?) {
        switch self {
        case .elements(let elements):
            let elements = elements.expanded
            let (index, isFound) = elements.search(for: element.sortKey)
            let changed = elements.replacing(
                index..<(isFound ? index + 1 : index), with: element)
            guard changed.count > Tree.maximumCount else { return (.elements(changed), nil) }
            let middle = Self.splitPoint(changed.count, insertedAt: index)
            let all = changed.array
            return (.elements(Tree.Run(all[..<middle])), .elements(Tree.Run(all[middle...])))
        case .block(let block):
            let index = block.index(of: element.sortKey)
            let (first, second) = block.slots[index].subtree.inserting(element)
            var slots = block.slots
            slots[index] = SortedTree.Slot(first)
            if let second { slots.insert(SortedTree.Slot(second), at: index + 1) }
            guard slots.count > Tree.maximumCount else {
                return (.block(block.replacing(slots, from: index)), nil)
            }
            let middle = Self.splitPoint(slots.count, insertedAt: index + 1)
            let left = block.replacing(Array(slots[..<middle]), from: Swift.min(index, middle))
            return (.block(left), .block(SortedTree.Block(Array(slots[middle...]))))
        }
    }

    /// Where to split: in the middle, or near the end after an insertion there, so that elements
    /// which arrive in order leave full blocks behind.
    private static func splitPoint(_ count: Int, insertedAt index: Int) -> Int {
        index == count - 1 ? count - Tree.maximumCount / 4 : count / 2
    }

    /// The subtree without the element of a key; nil if there is none.
    fileprivate func removing(_ key: Element.SortKey) -> Self? {
        switch self {
        case .elements(let elements):
            let elements = elements.expanded
            let (index, isFound) = elements.search(for: key)
            guard isFound else { return nil }
            return .elements(elements.replacing(index..<(index + 1), with: nil))
        case .block(let block):
            let index = block.index(of: key)
            guard let remaining = block.slots[index].subtree.removing(key) else { return nil }
            var slots = block.slots
            guard remaining.memberCount < Tree.maximumCount / 4 else {
                slots[index] = SortedTree.Slot(remaining)
                return .block(block.replacing(slots, from: index))
            }
            // A block has at least two slots, so there is a neighbour.
            let left = index > 0 ? index - 1 : 0
            let neighbour = slots[index > 0 ? index - 1 : 1].subtree
            let joined =
                index > 0 ? neighbour.joined(with: remaining) : remaining.joined(with: neighbour)
            slots.replaceSubrange(left...left + 1, with: joined.map { SortedTree.Slot($0) })
            return .block(block.replacing(slots, from: left))
        }
    }

    /// The count of elements or slots.
    private var memberCount: Int {
        switch self {
        case .elements(let elements): elements.count
        case .block(let block): block.slots.count
        }
    }

    /// One subtree of the members of this one and of the next one, which has the same height; two
    /// even ones if they are too many.
    private func joined(with next: Self) -> [Self] {
        switch (self, next) {
        case (.elements(let left), .elements(let right)):
            Self.parts(of: left.array + right.array).map { .elements(Tree.Run($0)) }
        case (.block(let left), .block(let right)):
            Self.parts(of: left.slots + right.slots).map {
                .block(SortedTree.Block(Array($0)))
            }
        default: [self, next]
        }
    }

    private static func parts<Member>(of members: [Member]) -> [ArraySlice<Member>] {
        if members.count <= Tree.maximumCount { return [members[...]] }
        return [members[..<(members.count / 2)], members[(members.count / 2)...]]
    }
}

extension SortedTree.Block {
    /// A block of other slots, the first of which are this block's.
    fileprivate func replacing(_ slots: [SortedTree.Slot], from index: Int) -> SortedTree.Block {
        let known = checkpoints.withLock { Array($0.prefix(index + 1)) }
        return SortedTree.Block(slots, checkpoints: known)
    }
}
