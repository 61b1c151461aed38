import LarderQuery

/// Decides which snapshots of a query a listener receives.
///
/// A pure machine.
package struct QueryListener: Sendable {
    package let options: ListenOptions
    private var onlineState: OnlineState
    private var progress = Progress.waiting(nil)

    private enum Progress: Sendable {
        /// No snapshot was delivered; the latest is withheld.
        indirect case waiting(ViewSnapshot?)
        /// The first snapshot was delivered; whether the latest had pending writes.
        case raised(hadPendingWrites: Bool)
    }

    package init(options: ListenOptions, onlineState: OnlineState) {
        self.options = options
        self.onlineState = onlineState
    }

    /// True before the first snapshot.
    var isWaiting: Bool {
        if case .waiting = progress { true } else { false }
    }

    /// The view's next snapshot.
    ///
    /// - Returns: the snapshot to deliver, if any.
    package mutating func onSnapshot(_ snapshot: ViewSnapshot) -> ViewSnapshot? {
        var snapshot = snapshot
        if !options.includeMetadataChanges {
            snapshot.changes = snapshot.changes.withoutMetadata
            snapshot.excludesMetadataChanges = true
        }
        switch progress {
        case .waiting:
            return raiseInitial(snapshot)
        case .raised(let hadPendingWrites):
            progress = .raised(hadPendingWrites: snapshot.hasPendingWrites)
            return shouldRaise(snapshot, hadPendingWrites) ? snapshot : nil
        }
    }

    /// A change of the online state.
    ///
    /// - Returns: the first snapshot, if it waited for this.
    package mutating func onOnlineState(_ state: OnlineState) -> ViewSnapshot? {
        onlineState = state
        guard case .waiting(let snapshot?) = progress else { return nil }
        return raiseInitial(snapshot)
    }

    private mutating func raiseInitial(_ snapshot: ViewSnapshot) -> ViewSnapshot? {
        guard shouldRaiseInitial(snapshot) else {
            progress = .waiting(snapshot)
            return nil
        }
        progress = .raised(hadPendingWrites: snapshot.hasPendingWrites)
        return snapshot.asInitial
    }

    private func shouldRaiseInitial(_ snapshot: ViewSnapshot) -> Bool {
        if !snapshot.isFromCache || options.source == .cache { return true }
        // A state that is not known may be online.
        if options.waitForSyncWhenOnline && onlineState != .offline { return false }
        return !snapshot.documents.isEmpty || snapshot.hasCachedResults || onlineState == .offline
    }

    private func shouldRaise(_ snapshot: ViewSnapshot, _ hadPendingWrites: Bool) -> Bool {
        if !snapshot.changes.isEmpty { return true }
        let metadataChanged =
            snapshot.syncStateChanged || snapshot.hasPendingWrites != hadPendingWrites
        return metadataChanged && options.includeMetadataChanges
    }
}

/// The options of a listener.
package struct ListenOptions: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case `default`
        case cache
    }

    /// Whether changes of metadata alone are delivered.
    package var includeMetadataChanges: Bool
    /// Whether the first snapshot waits for the backend, unless it is unreachable.
    package var waitForSyncWhenOnline: Bool
    package var source: Source

    package init(
        includeMetadataChanges: Bool = false, waitForSyncWhenOnline: Bool = false,
        source: Source = .default
    ) {
        self.includeMetadataChanges = includeMetadataChanges
        self.waitForSyncWhenOnline = waitForSyncWhenOnline
        self.source = source
    }
}
