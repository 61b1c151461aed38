/// Where figures over documents are computed.
public enum AggregateSource: Int, Hashable, Sendable {
    /// By the server, over its documents alone; fails with `unavailable` when it cannot be
    /// reached.
    case server = 0
    /// Here, exactly, over what the cache holds with pending writes in it; on the calling
    /// thread unless earlier writes have to be waited for.
    case cache = 1
}
