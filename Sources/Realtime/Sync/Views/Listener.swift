package import LarderRealtimeModel

/// The number of a listener; later listeners have larger ones.
package struct ListenerID: Hashable, Comparable, Sendable {
    package let rawValue: UInt

    package init(_ rawValue: UInt) {
        self.rawValue = rawValue
    }

    package static func < (left: ListenerID, right: ListenerID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The events of a view, in the order in which one operation raises them.
package enum TreeEventType: Int, Hashable, Comparable, CaseIterable, Sendable {
    case childRemoved, childAdded, childMoved, childChanged, value

    package static func < (left: TreeEventType, right: TreeEventType) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A receiver of some events of a query.
package struct Listener: Hashable, Sendable {
    package let id: ListenerID
    package let types: Set<TreeEventType>

    package init(_ id: ListenerID, _ types: Set<TreeEventType>) {
        self.id = id
        self.types = types
    }
}

/// A reason other than listeners to keep a query's data at hand; it receives no events.
package enum QueryHolder: Hashable, Sendable {
    /// `keepSynced(true)`.
    case keepSynced
    /// A transaction at the location.
    case transaction(TransactionID)
}

/// What the state of a view's data was when an event was raised.
package struct TreeEventMetadata: Hashable, Sendable {
    /// True if all data of the query is known; without it, child events come without values.
    package var isComplete: Bool
    /// True if pending writes at, above or below the location are in the data.
    package var hasPendingWrites: Bool
    /// True unless the server has confirmed the data on the present connection.
    package var isFromCache: Bool

    package init(isComplete: Bool, hasPendingWrites: Bool, isFromCache: Bool) {
        self.isComplete = isComplete
        self.hasPendingWrites = hasPendingWrites
        self.isFromCache = isFromCache
    }
}

/// An event for one listener.
package struct TreeEvent: Sendable {
    /// What happened.
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
