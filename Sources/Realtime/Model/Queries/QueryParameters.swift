/// The order, bounds and limit of a query.
package struct QueryParameters: Hashable, Sendable {
    /// The order of the children.
    package internal(set) var index: NodeIndex = .priority
    /// Where the window may begin; nil for the beginning of the order.
    package internal(set) var start: Bound?
    /// Where the window may end; nil for the end of the order.
    package internal(set) var end: Bound?
    /// The size of the window; nil for all children.
    package internal(set) var limit: Limit?

    /// An end of a range of children.
    package struct Bound: Hashable, Sendable {
        /// The value, null or a leaf; in the order of keys, the text of the key.
        package let value: IndexValue
        /// The key among children of that value; nil for all of them.
        package let key: ChildKey?
        /// False if children at exactly this bound are outside.
        package let isInclusive: Bool

        package init(_ value: IndexValue, key: ChildKey? = nil, isInclusive: Bool = true) {
            self.value = value
            self.key = key
            self.isInclusive = isInclusive
        }
    }

    /// How many children a window has at most, and from which end of the order they are taken.
    package struct Limit: Hashable, Sendable {
        /// An end of the order.
        package enum Anchor: Hashable, Sendable { case first, last }

        package let count: Int
        package let anchor: Anchor

        package init(_ count: Int, from anchor: Anchor) {
            self.count = count
            self.anchor = anchor
        }
    }

    /// All children, ordered by priority.
    package static let `default` = QueryParameters()

    /// True if all children belong to the query.
    package var loadsAllData: Bool { start == nil && end == nil && limit == nil }

    /// True if all children belong to the query, and are ordered by priority.
    package var isDefault: Bool { loadsAllData && index == .priority }

    /// The parameters with another size of the window; the same without a limit.
    package func resized(to count: Int) -> QueryParameters {
        var resized = self
        resized.limit = limit.map { Limit(count, from: $0.anchor) }
        return resized
    }

    /// The parameters to listen and to store by: the default ones if all children belong to the
    /// query, otherwise these.
    package var normalized: QueryParameters { loadsAllData ? .default : self }
}

// MARK: - Windows

extension QueryParameters {
    /// Where the window may begin: a position between children, or that of a child.
    package var startPosition: IndexPosition {
        guard let start else { return .min }
        return position(of: start, default: start.isInclusive ? .min : .max)
    }

    /// Where the window may end: a position between children, or that of a child.
    package var endPosition: IndexPosition {
        guard let end else { return .max }
        return position(of: end, default: end.isInclusive ? .max : .min)
    }

    private func position(of bound: Bound, default key: ChildKey) -> IndexPosition {
        guard index == .key else { return IndexPosition(bound.value, bound.key ?? key) }
        guard case .leaf(.string(let text)) = bound.value else { return .min }
        return IndexPosition(.null, ChildKey(wire: text))
    }

    /// True if a position lies within the bounds.
    package func contains(_ position: IndexPosition) -> Bool {
        isAfterStart(position) && isBeforeEnd(position)
    }

    /// True if a position is not below the start.
    package func isAfterStart(_ position: IndexPosition) -> Bool {
        let order = position.order(to: startPosition)
        return order > 0 || order == 0 && start?.isInclusive != false
    }

    /// True if a position is not above the end.
    package func isBeforeEnd(_ position: IndexPosition) -> Bool {
        let order = position.order(to: endPosition)
        return order < 0 || order == 0 && end?.isInclusive != false
    }

    /// The children of a node that belong to the query, in its order.
    ///
    /// Complexity: logarithmic in the count of children, if the node has the order.
    package func window(of node: Node) -> Slice<Node.Children> {
        window(in: node.children(by: index))
    }

    private func window(in children: Node.Children) -> Slice<Node.Children> {
        let (below, startsAtChild) = children.offset(of: startPosition)
        let lower = startsAtChild && start?.isInclusive == false ? below + 1 : below
        let (last, endsAtChild) = children.offset(of: endPosition)
        let upper = Swift.max(lower, endsAtChild && end?.isInclusive != false ? last + 1 : last)
        let range = children[lower..<upper]
        return switch limit?.anchor {
        case nil: range
        case .first: range.prefix(limit?.count ?? 0)
        case .last: range.suffix(limit?.count ?? 0)
        }
    }

    /// A node of the children that belong to the query: the node itself if all do, otherwise one
    /// without a priority, which is empty for a leaf.
    package func filtered(_ node: Node) -> Node {
        loadsAllData ? node : Node(children: window(of: node))
    }

    /// Like ``filtered(_:)``, for many children.
    ///
    /// - Parameter check: called every now and then, as long as children are sorted; throws to end it.
    package func filtered(
        _ node: Node, _ check: () throws(LarderError) -> Void
    ) throws(LarderError) -> Node {
        if loadsAllData { return node }
        return Node(children: window(in: try node.children(by: index, check)))
    }
}
