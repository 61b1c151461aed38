public import Foundation

/// The cache size that disables eviction.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// The kind of cache: ``PersistentCacheSettings`` or ``MemoryCacheSettings``.
///
/// Custom conforming types are treated as the default, a store on disk.
public protocol LocalCacheSettings {}

/// The garbage collection of a cache in memory: ``MemoryEagerGCSetting`` or
/// ``MemoryLRUGCSettings``.
public protocol MemoryGarbageCollectorSettings {}

/// The meaning of cache settings as a value.
enum CachePolicy: Hashable, Sendable {
    /// On disk, with a size in bytes.
    case persistent(Int64)
    /// In memory, with a size in bytes.
    case memory(Int64)
    /// In memory, keeping only what a listener or a pending write needs.
    case eagerMemory

    static let defaultBytes: Int64 = 104_857_600
    static let persistentDefault = CachePolicy.persistent(defaultBytes)

    init(_ settings: any LocalCacheSettings) {
        switch settings {
        case let settings as PersistentCacheSettings: self = .persistent(settings.sizeBytes)
        case let settings as MemoryCacheSettings: self = settings.policy
        default: self = .persistentDefault
        }
    }

    var settings: any LocalCacheSettings & NSObjectProtocol {
        switch self {
        case .persistent(let bytes): PersistentCacheSettings(policyBytes: bytes)
        case .memory(let bytes):
            MemoryCacheSettings(
                garbageCollectorSettings: MemoryLRUGCSettings(policyBytes: bytes))
        case .eagerMemory:
            MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
        }
    }

    /// The same size, on disk or in memory.
    func persistent(_ isPersistent: Bool) -> CachePolicy {
        switch self {
        case .persistent(let bytes): isPersistent ? self : .memory(bytes)
        case .memory(let bytes): isPersistent ? .persistent(bytes) : self
        case .eagerMemory: isPersistent ? .persistentDefault : self
        }
    }

    var isPersistent: Bool {
        if case .persistent = self { true } else { false }
    }

    var sizeBytes: Int64 {
        switch self {
        case .persistent(let bytes), .memory(let bytes): bytes
        case .eagerMemory: FirestoreCacheSizeUnlimited
        }
    }

    func sized(_ bytes: Int64) -> CachePolicy {
        switch self {
        case .persistent: .persistent(bytes)
        case .memory: .memory(bytes)
        case .eagerMemory: self
        }
    }
}

/// A cache on disk that survives restarts; the default.
///
/// Above the size, the least recently used unpinned documents are evicted. It is
/// ``FirestoreCacheSizeUnlimited`` or at least 1 MiB; with any other size every operation of the
/// database fails with `invalidArgument`.
public final class PersistentCacheSettings: NSObject, NSCopying, LocalCacheSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    let sizeBytes: Int64

    /// Creates settings with a size of 100 MiB.
    public override convenience init() {
        self.init(policyBytes: CachePolicy.defaultBytes)
    }

    /// Creates settings with a size in bytes.
    public convenience init(sizeBytes: NSNumber) {
        self.init(policyBytes: sizeBytes.int64Value)
    }

    /// Creates settings with a size in bytes.
    public convenience init(sizeBytes: Int) {
        self.init(policyBytes: Int64(sizeBytes))
    }

    init(policyBytes: Int64) {
        sizeBytes = policyBytes
    }

    /// The object itself, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True if the other object is such settings with the same size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? PersistentCacheSettings)?.sizeBytes == sizeBytes
    }

    /// The hash of the size.
    public override var hash: Int { sizeBytes.hashValue }
}

/// A cache in memory, lost when the database is terminated or the program ends.
public final class MemoryCacheSettings: NSObject, NSCopying, LocalCacheSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    let policy: CachePolicy

    /// Creates settings with LRU garbage collection above 100 MiB.
    public override init() {
        policy = .memory(CachePolicy.defaultBytes)
    }

    /// Creates settings with a garbage collector.
    public init(
        garbageCollectorSettings: any MemoryGarbageCollectorSettings & NSObjectProtocol
    ) {
        switch garbageCollectorSettings {
        case is MemoryEagerGCSetting: policy = .eagerMemory
        case let settings as MemoryLRUGCSettings: policy = .memory(settings.sizeBytes)
        default: policy = .memory(CachePolicy.defaultBytes)
        }
    }

    /// The object itself, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True if the other object is memory cache settings with the same collector and size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? MemoryCacheSettings)?.policy == policy
    }

    /// The hash of the collector and its size.
    public override var hash: Int { policy.hashValue }
}

/// Removes documents from a memory cache as soon as no listener or pending write needs them.
public final class MemoryEagerGCSetting: NSObject, NSCopying, MemoryGarbageCollectorSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    /// Creates the setting.
    public override init() {}

    /// The object itself, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True if the other object is such a setting.
    public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

    /// The same for all instances.
    public override var hash: Int { 1 }
}

/// Evicts the least recently used documents from a memory cache above a size.
///
/// The size is ``FirestoreCacheSizeUnlimited`` or at least 1 MiB; with any other size every
/// operation of the database fails with `invalidArgument`.
public final class MemoryLRUGCSettings: NSObject, NSCopying, MemoryGarbageCollectorSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    let sizeBytes: Int64

    /// Creates settings with a size of 100 MiB.
    public override convenience init() {
        self.init(policyBytes: CachePolicy.defaultBytes)
    }

    /// Creates settings with a size in bytes.
    public convenience init(sizeBytes: NSNumber) {
        self.init(policyBytes: sizeBytes.int64Value)
    }

    /// Creates settings with a size in bytes.
    public convenience init(sizeBytes: Int) {
        self.init(policyBytes: Int64(sizeBytes))
    }

    init(policyBytes: Int64) {
        sizeBytes = policyBytes
    }

    /// The object itself, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True if the other object is such settings with the same size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? MemoryLRUGCSettings)?.sizeBytes == sizeBytes
    }

    /// The hash of the size.
    public override var hash: Int { sizeBytes.hashValue }
}
