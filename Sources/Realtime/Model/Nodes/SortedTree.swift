import Synchronization

/// An element of a ``SortedTree``.
protocol SortedTreeElement: Sendable {
    associatedtype SortKey: Sendable
    associatedtype Summary: SortedTreeSummary
    /// The state of a computation over the elements in order, to continue from.
    associatedtype Checkpoint: Sendable
    /// Several elements in less memory than an array takes; `Never` for none.
    associatedtype Packed: PackedElements where Packed.Element == Self

    var sortKey: SortKey { get }
    var summary: Summary { get }

    /// The order of two keys: below, equal to or above 0.
    static func order(_ left: SortKey, _ right: SortKey) -> Int
}

/// The summary of a range of elements.
protocol SortedTreeSummary: Sendable {
    /// The summary of no elements.
    init()
    /// Adds the summary of other elements.
    mutating func add(_ other: Self)
}

/// A persistent ordered set: a B+ tree, or one sorted run while there are few elements.
///
/// A change copies the blocks on the way to its element, and shares all others with the tree
/// before. Elements are found by key or by offset in logarithmic time; keys are unique.
///
///     root ─┬─ block ─┬─ elements        Blocks and runs of elements have at most
///           │         └─ elements        `maximumCount` members, and at least a quarter
///           └─ block ─── elements …      of that, apart from the root.
struct SortedTree<Element: SortedTreeElement>: Sendable {
    /// The most members of a block or a run of elements.
    static var maximumCount: Int { 32 }

    var root: Subtree

    enum Subtree: Sendable {
        case elements(Run)
        case block(Block)
    }

    /// A subtree with what is known of it.
    struct Slot: Sendable {
        let subtree: Subtree
        let lowest: Element.SortKey
        let count: Int
        let summary: Element.Summary
    }

    /// An inner node: at least two slots.
    final class Block: Sendable {
        let slots: [Slot]
        let count: Int
        let summary: Element.Summary
        /// The state of a computation before each slot, and after the last one, as far as it is
        /// known.
        let checkpoints: Mutex<[Element.Checkpoint]>

        init(_ slots: [Slot], checkpoints: [Element.Checkpoint] = []) {
            self.slots = slots
            self.checkpoints = Mutex(checkpoints)
            var (count, summary) = (0, Element.Summary())
            for slot in slots {
                count += slot.count
                summary.add(slot.summary)
            }
            (self.count, self.summary) = (count, summary)
        }
    }

    /// A tree without elements.
    init() {
        root = .elements(.array([]))
    }

    /// A tree of elements with ascending keys, none twice.
    ///
    /// Complexity: linear in the count of elements.
    init(sorted elements: [Element]) {
        var builder = SortedTreeBuilder<Element>()
        for element in elements { builder.append(element) }
        self = builder.tree
    }

    /// The summary of all elements.
    var summary: Element.Summary { root.summary }
}

extension SortedTree.Subtree {
    var count: Int {
        switch self {
        case .elements(let elements): elements.count
        case .block(let block): block.count
        }
    }

    var summary: Element.Summary {
        switch self {
        case .elements(let elements): elements.summary
        case .block(let block): block.summary
        }
    }
}

extension SortedTree.Subtree {
    fileprivate subscript(offset: Int) -> Element {
        switch self {
        case .elements(let elements): return elements[offset]
        case .block(let block):
            var (index, offset) = (0, offset)
            while offset >= block.slots[index].count {
                offset -= block.slots[index].count
                index += 1
            }
            return block.slots[index].subtree[offset]
        }
    }
}

extension SortedTree.Slot {
    /// A slot of a subtree that is not empty.
    init(_ subtree: SortedTree.Subtree) {
        self.subtree = subtree
        count = subtree.count
        summary = subtree.summary
        switch subtree {
        case .elements(let elements): lowest = elements[0].sortKey
        case .block(let block): lowest = block.slots[0].lowest
        }
    }
}

// MARK: - Reading

extension SortedTree: RandomAccessCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { root.count }

    /// The element at an offset.
    ///
    /// Complexity: logarithmic.
    subscript(offset: Int) -> Element { root[offset] }

    /// The element of a key.
    subscript(key key: Element.SortKey) -> Element? {
        var subtree = root
        while case .block(let block) = subtree {
            subtree = block.slots[block.index(of: key)].subtree
        }
        guard case .elements(let run) = subtree else { return nil }
        let elements = run.expanded
        let (index, isFound) = elements.search(for: key)
        return isFound ? elements[index] : nil
    }

    /// The count of elements below a key, and whether the next one has that key.
    func offset(of key: Element.SortKey) -> (offset: Int, isFound: Bool) {
        var (subtree, before) = (root, 0)
        while case .block(let block) = subtree {
            let index = block.index(of: key)
            for slot in block.slots[..<index] { before += slot.count }
            subtree = block.slots[index].subtree
        }
        guard case .elements(let elements) = subtree else { return (before, false) }
        let (index, isFound) = elements.expanded.search(for: key)
        return (before + index, isFound)
    }
}

extension SortedTree.Block {
    /// The slot in which a key is, or would be.
    func index(of key: Element.SortKey) -> Int {
        var (low, high) = (1, slots.count)
        while low < high {
            let middle = (low &+ high) / 2
            if Element.order(slots[middle].lowest, key) <= 0 {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        return low - 1
    }
}

extension SortedTree: Sequence {
    /// Goes through the elements in order, in constant time each.
    struct Iterator: IteratorProtocol {
        private var elements = Run.array([])
        private var index = 0
        private var path: [(block: Block, next: Int)] = []

        init(_ root: Subtree) {
            descend(into: root)
        }

        private mutating func descend(into subtree: Subtree) {
            var subtree = subtree
            while case .block(let block) = subtree {
                path.append((block, 1))
                subtree = block.slots[0].subtree
            }
            if case .elements(let next) = subtree { (elements, index) = (next.expanded, 0) }
        }

        mutating func next() -> Element? {
            if index == elements.count {
                while let (block, next) = path.popLast() {
                    guard next < block.slots.count else { continue }
                    path.append((block, next + 1))
                    descend(into: block.slots[next].subtree)
                    break
                }
            }
            guard index < elements.count else { return nil }
            defer { index += 1 }
            return elements[index]
        }
    }

    func makeIterator() -> Iterator { Iterator(root) }
}
