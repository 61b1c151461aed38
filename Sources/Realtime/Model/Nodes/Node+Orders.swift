extension Node {
    /// The children in the order of an index.
    package func children(by index: NodeIndex) -> [Child] {
        children.sorted { index.order($0, $1) < 0 }
    }

    /// The first child in the order of an index.
    package func firstChild(by index: NodeIndex) -> Child? {
        child(after: .min, by: index)
    }

    /// The last child in the order of an index.
    package func lastChild(by index: NodeIndex) -> Child? {
        child(before: .max, by: index)
    }

    /// The first child above a position, or at it.
    package func child(
        after position: IndexPosition, orEqual: Bool = false, by index: NodeIndex
    ) -> Child? {
        children(by: index).first {
            let order = index.position(of: $0).order(to: position)
            return order > 0 || orEqual && order == 0
        }
    }

    /// The last child below a position, or at it.
    package func child(
        before position: IndexPosition, orEqual: Bool = false, by index: NodeIndex
    ) -> Child? {
        children(by: index).last {
            let order = index.position(of: $0).order(to: position)
            return order < 0 || orEqual && order == 0
        }
    }

    /// The key of the child before a given one, which is a child of this node; nil for the first.
    package func previousKey(of child: Child, by index: NodeIndex) -> ChildKey? {
        self.child(before: index.position(of: child), by: index)?.key
    }
}
