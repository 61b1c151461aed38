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
