package import LarderRealtimeModel

/// The number of a write; later writes have larger ones.
package struct WriteID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: WriteID, right: WriteID) -> Bool {
        left.rawValue < right.rawValue
    }

    package var description: String { String(rawValue) }
}

/// A write that the server has not acknowledged.
package struct PendingWrite: Equatable, Sendable {
    /// The change that a write makes.
    package enum Change: Equatable, Sendable {
        /// Replaces the node at the write's path.
        case overwrite(Node)
        /// Replaces several nodes below the write's path, at relative paths of which none is an
        /// ancestor of another.
        case merge([PathValue])
    }

    package let id: WriteID
    package let path: TreePath
    package var change: Change
    /// False for the result of a transaction without local events: no view shows it, other
    /// transactions see it.
    package let isVisible: Bool
    /// True if another client of the store sends it; transactions are not based on it.
    package let isForeign: Bool

    package init(
        _ id: WriteID, at path: TreePath, _ change: Change, isVisible: Bool = true,
        isForeign: Bool = false
    ) {
        self.id = id
        self.path = path
        self.change = change
        self.isVisible = isVisible
        self.isForeign = isForeign
    }

    /// The nodes that the write replaces, by their paths from the root, in the order in which they
    /// are to be set.
    package var values: [PathValue] {
        switch change {
        case .overwrite(let node): [PathValue(path, node)]
        case .merge(let values): values.ranked.map { PathValue(path.appending($0.path), $0.node) }
        }
    }
}

extension PathValue {
    /// The place of the value among those that are written together.
    ///
    /// Nodes come first, then removals, then priorities: a node that becomes empty in between loses
    /// its priority.
    var rank: Int { path.isPriority ? 2 : node.isEmpty ? 1 : 0 }
}

extension [PathValue] {
    /// The values in the order of their ``PathValue/rank``.
    fileprivate var ranked: [PathValue] {
        count > 1 ? (0...2).flatMap { rank in filter { $0.rank == rank } } : self
    }
}
