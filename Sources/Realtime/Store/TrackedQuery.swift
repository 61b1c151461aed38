package import LarderRealtimeModel

/// The number of a tracked query in a cache.
package struct TrackedQueryID: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: TrackedQueryID, right: TrackedQueryID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A query whose data a cache holds.
package struct TrackedQuery: Equatable, Sendable {
    package let id: TrackedQueryID
    /// The query, normalized: one that loads all data is the default query of its location.
    package let query: QuerySpec
    /// When it last became active or inactive, in milliseconds since the Unix epoch.
    package var lastUse: Int64
    /// True if all that the query selects was cached.
    package var isComplete: Bool
    /// True while listeners, `keepSynced` or a get use the query; such data is not evicted.
    package var isActive: Bool
    /// True if a cache rule keeps the query; such data is not evicted, either.
    package var isPinned: Bool
    /// When the server has last confirmed the data, in milliseconds since the Unix epoch by the
    /// local clock; nil if it has not.
    ///
    /// A later time may not be stored.
    package var confirmed: Int64?

    package init(
        _ id: TrackedQueryID, _ query: QuerySpec, lastUse: Int64, isComplete: Bool = false,
        isActive: Bool = false, isPinned: Bool = false, confirmed: Int64? = nil
    ) {
        self.id = id
        self.query = query
        self.lastUse = lastUse
        self.isComplete = isComplete
        self.isActive = isActive
        self.isPinned = isPinned
        self.confirmed = confirmed
    }
}
