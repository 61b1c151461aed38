extension Node {
    /// The children in the order of their keys.
    package var children: Children {
        Children(order: .keys(branch?.children ?? SortedTree()))
    }

    /// The children in the order of an index.
    ///
    /// Complexity: that of sorting when the index is used first, nothing later; the order is kept
    /// and follows the node's changes.
    package func children(by index: NodeIndex) -> Children {
        guard let branch, !branch.isOrderedByKey(in: index) else { return children }
        return Children(order: .positions(branch.positions(in: index), branch.children))
    }

    /// Like ``children(by:)``, for many children.
    ///
    /// - Parameter check: called every now and then while they are sorted; throws to end it.
    package func children(
        by index: NodeIndex, _ check: () throws(LarderError) -> Void
    ) throws(LarderError) -> Children {
        guard let branch, !branch.isOrderedByKey(in: index) else { return children }
        let positions = try branch.positions(in: index, check)
        return Children(order: .positions(positions, branch.children))
    }

    /// The children of a node in the order of an index.
    ///
    /// An element is found by its offset in logarithmic time.
    package struct Children: RandomAccessCollection, Sendable {
        fileprivate enum Order: Sendable {
            case keys(SortedTree<Child>)
            case positions(SortedTree<IndexPosition>, SortedTree<Child>)
        }

        fileprivate let order: Order

        package var startIndex: Int { 0 }

        package var endIndex: Int {
            switch order {
            case .keys(let children), .positions(_, let children): children.count
            }
        }

        package subscript(offset: Int) -> Child {
            switch order {
            case .keys(let children): children[offset]
            case .positions(let positions, let children):
                children.child(of: positions[offset])
            }
        }

        /// The count of children below a position, and whether there is one at it.
        package func offset(of position: IndexPosition) -> (offset: Int, isFound: Bool) {
            switch order {
            case .positions(let positions, _): positions.offset(of: position)
            // All children have the value null.
            case .keys(let children):
                position.value.order(to: .null) > 0
                    ? (children.count, false) : children.offset(of: position.key)
            }
        }

        /// Goes through the children in order.
        package struct Iterator: IteratorProtocol {
            fileprivate enum Base {
                case keys(SortedTree<Child>.Iterator)
                case positions(SortedTree<IndexPosition>.Iterator, SortedTree<Child>)
            }

            fileprivate var base: Base

            package mutating func next() -> Child? {
                switch base {
                case .keys(var iterator):
                    defer { base = .keys(iterator) }
                    return iterator.next()
                case .positions(var iterator, let children):
                    defer { base = .positions(iterator, children) }
                    return iterator.next().map { children.child(of: $0) }
                }
            }
        }

        package func makeIterator() -> Iterator {
            switch order {
            case .keys(let children): Iterator(base: .keys(children.makeIterator()))
            case .positions(let positions, let children):
                Iterator(base: .positions(positions.makeIterator(), children))
            }
        }
    }
}

extension SortedTree<Child> {
    /// The child at a position of an index over this tree.
    fileprivate func child(of position: IndexPosition) -> Child {
        self[key: position.key] ?? Child(position.key, .empty)
    }
}

// MARK: - Neighbours

extension Node.Children {
    /// The first child above a position, or at it.
    ///
    /// Complexity: logarithmic.
    package func first(after position: IndexPosition, orEqual: Bool = false) -> Child? {
        let (offset, isFound) = offset(of: position)
        let next = isFound && !orEqual ? offset + 1 : offset
        return next < endIndex ? self[next] : nil
    }

    /// The last child below a position, or at it.
    ///
    /// Complexity: logarithmic.
    package func last(before position: IndexPosition, orEqual: Bool = false) -> Child? {
        let (offset, isFound) = offset(of: position)
        let previous = isFound && orEqual ? offset : offset - 1
        return previous >= 0 ? self[previous] : nil
    }
}

// MARK: - Differences

extension Node {
    /// Calls a closure for the children in which two nodes differ, in the order of their keys, with
    /// the child before and after; empty for none.
    ///
    /// Complexity: that of the changes that lie between both nodes, if one was made from the other.
    package static func forEachChangedChild(
        from old: Node, to new: Node, _ body: (ChildKey, _ old: Node, _ new: Node) -> Void
    ) {
        SortedTree.forEachDifference(
            from: old.branch?.children ?? SortedTree(), to: new.branch?.children ?? SortedTree()
        ) { old, new in
            if let child = new ?? old, old?.node != new?.node {
                body(child.key, old?.node ?? .empty, new?.node ?? .empty)
            }
            return .continue
        }
    }
}
