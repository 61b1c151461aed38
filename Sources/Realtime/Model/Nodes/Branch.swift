import Synchronization

/// What a node with children holds, and what is computed of it when first asked for.
final class Branch: Sendable {
    let children: SortedTree<Child>
    let priority: Priority

    init(_ children: SortedTree<Child>, _ priority: Priority) {
        self.children = children
        self.priority = priority
    }
}
