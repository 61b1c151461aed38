/// What a step of eviction did.
public struct EvictionResult: Hashable, Sendable {
    /// Whether the store is over the goal and another step can free more.
    public let hasMore: Bool
    /// Documents that were looked at.
    public let examinedCount: Int64
    /// Documents that were evicted.
    public let evictedCount: Int64
    /// Targets that were removed.
    public let targetCount: Int64
    /// Bytes that were freed.
    public let freedBytes: Int64
    /// Documents that were met and kept.
    public let pinnedCount: Int64
    /// What the store holds after the step, in bytes.
    public let totalBytes: Int64
    /// How long the step took, in microseconds.
    public let elapsedMicroseconds: Int64
}
