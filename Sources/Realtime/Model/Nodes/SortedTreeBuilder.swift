/// Makes a ``SortedTree`` of elements that come in the order of their keys, without an array of
/// all of them.
struct SortedTreeBuilder<Element: SortedTreeElement> {
    private typealias Tree = SortedTree<Element>

    /// Runs and blocks leave room for a few insertions each.
    private static var groupCount: Int { Tree.maximumCount * 3 / 4 }

    private var slots: [Tree.Slot] = []
    /// The last elements: fewer than two groups.
    private var rest: [Element] = []
    private let pack: (ArraySlice<Element>) -> Element.Packed?

    /// - Parameter pack: how runs of elements are packed; nil for an array.
    init(pack: @escaping (ArraySlice<Element>) -> Element.Packed? = { Element.Packed($0) }) {
        self.pack = pack
    }

    /// Adds an element, whose key is above those of all elements before.
    mutating func append(_ element: Element) {
        rest.append(element)
        guard rest.count == 2 * Self.groupCount else { return }
        slots.append(Tree.Slot(.elements(run(of: rest[..<Self.groupCount]))))
        rest.removeSubrange(..<Self.groupCount)
    }

    /// All elements, as an array.
    var elements: [Element] {
        slots.isEmpty ? rest : Array(tree)
    }

    /// The tree of all elements.
    var tree: SortedTree<Element> {
        var tree = Tree()
        if slots.isEmpty && rest.count <= Tree.maximumCount {
            if !rest.isEmpty { tree.root = .elements(run(of: rest[...])) }
            return tree
        }
        var slots = slots
        for group in Self.groups(of: rest) { slots.append(Tree.Slot(.elements(run(of: group)))) }
        while slots.count > Tree.maximumCount {
            slots = Self.groups(of: slots).map { Tree.Slot(.block(Tree.Block(Array($0)))) }
        }
        tree.root = .block(Tree.Block(slots))
        return tree
    }

    private func run(of elements: ArraySlice<Element>) -> Tree.Run {
        pack(elements).map { .packed($0) } ?? .array(Array(elements))
    }

    private static func groups<Member>(of members: [Member]) -> [ArraySlice<Member>] {
        let count = (members.count + groupCount - 1) / groupCount
        return (0..<count).map {
            members[members.count * $0 / count..<members.count * ($0 + 1) / count]
        }
    }
}
