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
        /// The value; null or a leaf.
        package var value: IndexValue
        /// The key among children of that value; nil for the outermost.
        package var key: ChildKey?
        /// False if a child at exactly this position is outside.
        package var isInclusive: Bool

        package init(_ value: IndexValue, key: ChildKey? = nil, isInclusive: Bool = true) {
            self.value = value
            self.key = key
            self.isInclusive = isInclusive
        }
    }

    /// How many children a window has at most, and from which end of the order they are taken.
    package struct Limit: Hashable, Sendable {
        package enum Anchor: Hashable, Sendable { case first, last }

        package var count: Int
        package var anchor: Anchor

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

    /// The default parameters if all children belong to the query, otherwise these.
    package var normalized: QueryParameters { loadsAllData ? .default : self }
}

// MARK: - Matching

extension QueryParameters {
    /// The first position that may belong to the window.
    package var startPosition: IndexPosition {
        guard let start else { return .min }
        return index == .key
            ? IndexPosition(.null, start.keyOfKeyIndex)
            : IndexPosition(start.value, start.key ?? .min)
    }

    /// The last position that may belong to the window.
    package var endPosition: IndexPosition {
        guard let end else { return .max }
        return index == .key
            ? IndexPosition(.null, end.keyOfKeyIndex) : IndexPosition(end.value, end.key ?? .max)
    }

    /// True if a position lies between the bounds.
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
}

extension QueryParameters.Bound {
    /// The key that a bound of the key index names by its value.
    fileprivate var keyOfKeyIndex: ChildKey {
        if let key, key.isSentinel { return key }
        guard case .leaf(.string(let text)) = value else { return .min }
        return ChildKey(text)
    }
}
