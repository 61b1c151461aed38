import LarderCore

extension SortedTree {
    /// Calls a closure for the elements in which two trees may differ, in the order of their keys:
    /// with both elements of a key, or with the only one.
    ///
    /// Shared subtrees are skipped, so the cost is that of the changes that lie between them.
    /// Elements of one key may be equal.
    static func forEachDifference(
        from old: SortedTree, to new: SortedTree, _ body: (Element?, Element?) -> IterationStep
    ) {
        var (left, right) = (Walk(old.root), Walk(new.root))
        while true {
            if left.isBetweenElements && right.isBetweenElements {
                Walk.skipCommon(&left, &right)
            }
            let step: IterationStep
            switch (left.peek(), right.peek()) {
            case (nil, nil): return
            case (let element?, nil):
                left.advance()
                step = body(element, nil)
            case (nil, let element?):
                right.advance()
                step = body(nil, element)
            case (let l?, let r?):
                let order = Element.order(l.sortKey, r.sortKey)
                if order <= 0 { left.advance() }
                if order >= 0 { right.advance() }
                step = body(order <= 0 ? l : nil, order >= 0 ? r : nil)
            }
            if step == .stop { return }
        }
    }

    /// A walk through the elements of a tree that can leave out subtrees.
    private struct Walk {
        private var elements = Run.array([])
        /// The next of the elements.
        private var index = 0
        /// The remaining elements, the next at the end.
        private var subtrees: [Subtree]

        init(_ root: Subtree) {
            subtrees = [root]
        }

        /// True if the next element begins a subtree.
        var isBetweenElements: Bool { index == elements.count }

        mutating func peek() -> Element? {
            while isBetweenElements, let subtree = subtrees.popLast() { expand(subtree) }
            return isBetweenElements ? nil : elements[index]
        }

        mutating func advance() {
            index += 1
        }

        private mutating func expand(_ subtree: Subtree) {
            switch subtree {
            case .elements(let next): (elements, index) = (next.expanded, 0)
            case .block(let block): subtrees += block.slots.reversed().map(\.subtree)
            }
        }

        /// Leaves out subtrees that come next in both walks.
        static func skipCommon(_ left: inout Walk, _ right: inout Walk) {
            while let l = left.subtrees.last, let r = right.subtrees.last {
                if l.isIdentical(to: r) {
                    left.subtrees.removeLast()
                    right.subtrees.removeLast()
                    continue
                }
                let (leftHeight, rightHeight) = (l.height, r.height)
                if leftHeight == 0 && rightHeight == 0 { return }
                if leftHeight >= rightHeight { left.expandNext() }
                if rightHeight >= leftHeight { right.expandNext() }
            }
        }

        private mutating func expandNext() {
            if let subtree = subtrees.popLast() { expand(subtree) }
        }
    }
}

extension SortedTree.Subtree {
    /// The count of levels of blocks.
    fileprivate var height: Int {
        guard case .block(let block) = self else { return 0 }
        return 1 + block.slots[0].subtree.height
    }

    /// True if both are the same memory.
    func isIdentical(to other: Self) -> Bool {
        switch (self, other) {
        case (.block(let left), .block(let right)): left === right
        case (.elements(let left), .elements(let right)): left.isIdentical(to: right)
        default: false
        }
    }
}
