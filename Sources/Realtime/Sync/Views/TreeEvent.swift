package import LarderRealtimeModel

/// The events of a view, in the order in which one operation raises them.
package enum TreeEventType: Int, Hashable, Comparable, CaseIterable, Sendable {
    case childRemoved, childAdded, childMoved, childChanged, value

    package static func < (left: TreeEventType, right: TreeEventType) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The state of a view's data when an event was raised.
package struct TreeEventMetadata: Hashable, Sendable {
    /// True if all data of the query is known; without it, child events come without values.
    package var isComplete: Bool
    /// True if pending writes at, above or below the location are in the data.
    package var hasPendingWrites: Bool
    /// True unless the server has sent or confirmed the data on the present connection.
    package var isFromCache: Bool

    package init(isComplete: Bool, hasPendingWrites: Bool, isFromCache: Bool) {
        self.isComplete = isComplete
        self.hasPendingWrites = hasPendingWrites
        self.isFromCache = isFromCache
    }
}

/// An event for one listener.
package struct TreeEvent: Sendable {
    /// The type of the event.
    package enum Change: Sendable {
        /// The query's data is another.
        case value(Node)
        /// A child was added, has changed, moved or was removed; then it is the child before.
        ///
        /// The key is that of the sibling before it in the query's order, nil for the first child
        /// and for a removed one.
        case child(TreeEventType, Child, after: ChildKey?)
        /// The server ended the listen; nothing follows.
        case cancelled(LarderError)
    }

    package let listener: ListenerID
    package let query: QuerySpec
    package let change: Change
    package let metadata: TreeEventMetadata
}

extension TreeEvent.Change {
    /// The type of the event; a cancellation is of no type.
    package var type: TreeEventType? {
        switch self {
        case .value: .value
        case .child(let type, _, _): type
        case .cancelled: nil
        }
    }
}
