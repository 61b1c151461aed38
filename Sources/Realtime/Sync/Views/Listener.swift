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

/// A receiver of some events of a query.
package struct Listener: Hashable, Sendable {
    package let id: ListenerID
    package let types: Set<TreeEventType>
    /// True if a value is raised again when nothing but its metadata has changed; if it was
    /// incomplete and is complete now, it is in any case.
    package let includesMetadataChanges: Bool

    package init(
        _ id: ListenerID, _ types: Set<TreeEventType>, includesMetadataChanges: Bool = false
    ) {
        self.id = id
        self.types = types
        self.includesMetadataChanges = includesMetadataChanges
    }
}

/// A reason other than listeners to keep a query's data at hand; it receives no events.
package enum QueryHolder: Hashable, Sendable {
    /// `keepSynced(true)`.
    case keepSynced
    /// A transaction at the location.
    case transaction(TransactionID)
    /// Another client of the store, for which this one keeps the cache.
    case client(ClientNumber)
}
