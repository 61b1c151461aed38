/// The events that observers are registered for.
///
/// One change of data leads to events in this order: removed, added, moved and changed children,
/// then the value.
public enum DataEventType: Int, Hashable, Sendable {
    /// A child has appeared, or was there when the observer was added.
    case childAdded = 0
    /// A child has disappeared; the snapshot is that of the child as it was.
    case childRemoved = 1
    /// The content of a child has changed.
    case childChanged = 2
    /// The value that a child is ordered by has changed.
    case childMoved = 3
    /// The content of the location or the query is complete, or has changed.
    case value = 4
}

/// The number of a registered observer.
public typealias DatabaseHandle = UInt
