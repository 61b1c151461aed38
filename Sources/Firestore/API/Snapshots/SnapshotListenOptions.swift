/// Where a listener's snapshots come from.
public enum ListenSource: Int, Hashable, Sendable {
    /// The cache first, then the server's word through the cache.
    case `default` = 0
    /// The cache alone; the server is not asked.
    case cache = 1
}

/// What a listener wants to hear of, and from where.
///
/// Immutable: the methods give changed copies.
public final class SnapshotListenOptions: Sendable {
    /// Where the snapshots come from.
    public let source: ListenSource

    /// Whether changes of metadata alone give snapshots, too.
    public let includeMetadataChanges: Bool

    /// Everything but changes of metadata alone, from cache and server.
    public convenience init() {
        self.init(source: .default, includeMetadataChanges: false)
    }

    init(source: ListenSource, includeMetadataChanges: Bool) {
        self.source = source
        self.includeMetadataChanges = includeMetadataChanges
    }

    /// The same, with or without snapshots for changes of metadata alone.
    public func withIncludeMetadataChanges(
        _ includeMetadataChanges: Bool
    ) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }

    /// The same, from another source.
    public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
        SnapshotListenOptions(source: source, includeMetadataChanges: includeMetadataChanges)
    }
}

/// Where a get reads.
public enum FirestoreSource: Int, Hashable, Sendable {
    /// The server, and the cache when it cannot be reached.
    case `default` = 0
    /// The server alone; fails with `unavailable` when it cannot be reached.
    case server = 1
    /// The cache alone, on the calling thread unless earlier writes have to be waited for.
    case cache = 2
}
