import LarderQuery

/// Decides which snapshots of a query one listener gets to see.
///
/// A machine without threads: hand in what happens, deliver what comes out.
package struct QueryListener: Sendable {
    /// What the listener wants.
    package let options: ListenOptions
    private var onlineState: OnlineState
    private var progress = Progress.waiting(nil)

    private enum Progress: Sendable {
        /// Nothing was raised yet; the latest snapshot is withheld.
        indirect case waiting(ViewSnapshot?)
        /// The first snapshot was raised; whether the latest had pending writes.
        case raised(hadPendingWrites: Bool)
    }

    /// A listener that has seen nothing.
    package init(options: ListenOptions, onlineState: OnlineState) {
        self.options = options
        self.onlineState = onlineState
    }

    /// Whether it was not told anything yet.
    var isWaiting: Bool {
        if case .waiting = progress { true } else { false }
    }

    /// Takes the view's next snapshot.
    ///
    /// - Returns: what the listener gets; nil when it is not told.
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

    /// Takes a change of the online state.
    ///
    /// - Returns: the first snapshot, when only this was missing.
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

/// What a listener wants to hear, and from where.
package struct ListenOptions: Sendable, Hashable {
    /// Where a listener's snapshots come from.
    package enum Source: Sendable, Hashable {
        /// From the local store and the backend.
        case `default`
        /// From the local store alone.
        case cache
    }

    /// Whether changes of metadata alone are told, too.
    package var includeMetadataChanges: Bool
    /// Whether the first snapshot waits for the backend unless that cannot be reached.
    package var waitForSyncWhenOnline: Bool
    /// Where snapshots come from.
    package var source: Source

    /// The usual options, or others.
    package init(
        includeMetadataChanges: Bool = false, waitForSyncWhenOnline: Bool = false,
        source: Source = .default
    ) {
        self.includeMetadataChanges = includeMetadataChanges
        self.waitForSyncWhenOnline = waitForSyncWhenOnline
        self.source = source
    }
}
