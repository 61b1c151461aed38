public import Foundation

/// A store in memory, of which nothing is left when the database is terminated or the program
/// ends.
public final class MemoryCacheSettings: NSObject, LocalCacheSettings, @unchecked Sendable {
    // Immutable; NSObject is not declared Sendable.

    let policy: CachePolicy

    /// A store that evicts documents that were used least recently, over 100 MiB.
    public override init() {
        policy = .memory(CachePolicy.defaultBytes)
    }

    /// A store that lets go of documents as the collector's settings say.
    public init(
        garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol
    ) {
        switch garbageCollectorSettings {
        case is MemoryEagerGCSetting: policy = .eagerMemory
        case let settings as MemoryLRUGCSettings: policy = .memory(settings.sizeBytes)
        default: policy = .memory(CachePolicy.defaultBytes)
        }
    }

    /// Whether the other object is such settings with the same collector and size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? MemoryCacheSettings)?.policy == policy
    }

    /// A hash of the collector and its size.
    public override var hash: Int { policy.hashValue }
}
