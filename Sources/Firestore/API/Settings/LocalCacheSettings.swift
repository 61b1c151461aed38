import Foundation

/// The cache size that stands for "no limit": nothing is ever evicted.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// Where a database keeps its documents: ``PersistentCacheSettings`` or ``MemoryCacheSettings``.
///
/// Only these two are understood; a type of one's own means the default, a store on disk.
public protocol LocalCacheSettings {}

/// How a store in memory lets go of documents: ``MemoryEagerGCSetting`` or
/// ``MemoryLRUGCSettings``.
public protocol MemoryGarbageCollectorSettings {}

/// What cache settings come to.
enum CachePolicy: Hashable, Sendable {
    /// On disk, with at most so many bytes.
    case persistent(Int64)
    /// In memory, with at most so many bytes.
    case memory(Int64)
    /// In memory, without what no listener and no pending write needs.
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

    /// The settings that come to this.
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

    /// The same, on disk or in memory, with as many bytes.
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
