/// What an eviction did.
public struct EvictionReport: Hashable, Sendable {
    /// Documents that were removed from the cache.
    public let evictedCount: Int
    /// Documents that matched and were kept: they have pending writes.
    public let keptCount: Int
    /// What was freed, in bytes.
    public let freedBytes: Int64
}
