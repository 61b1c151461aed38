package import LarderModel
package import LarderQuery

/// What one step of the active views has led to; the caller delivers it.
package struct ViewStep: Sendable {
    /// What a listener is told.
    package struct Delivery: Sendable {
        /// The listener.
        package let listener: ActiveViews.ListenerID
        /// A snapshot; an error when the listener is told nothing any more.
        package let result: Result<ViewSnapshot, LarderError>
    }

    /// What listeners are told, in this order.
    package internal(set) var deliveries: [Delivery] = []
    /// Whether those who wait for snapshots in sync are told after the deliveries: some listener
    /// got a snapshot.
    package internal(set) var firesSnapshotsInSync = false
    /// Which documents are now in some view, and which are in none any longer.
    package internal(set) var pinnedPaths = PinnedPathsChange()
    /// Documents that came into limbo or left it, by view, in the views' order.
    package internal(set) var limboChanges: [(view: ViewID, changes: [LimboChange])] = []

    /// Views that have ended because their query failed or was refused.
    package internal(set) var endedViews: [ViewID] = []

    /// A step that has led to nothing.
    package init() {}

    mutating func deliver(_ snapshot: ViewSnapshot, to listener: ActiveViews.ListenerID) {
        deliveries.append(Delivery(listener: listener, result: .success(snapshot)))
        firesSnapshotsInSync = true
    }

    mutating func deliver(_ error: LarderError, to listener: ActiveViews.ListenerID) {
        deliveries.append(Delivery(listener: listener, result: .failure(error)))
    }
}
