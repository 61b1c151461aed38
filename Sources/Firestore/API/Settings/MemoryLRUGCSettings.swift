public import Foundation

/// In memory, documents that were used least recently go when the store outgrows a size.
///
/// The size is ``FirestoreCacheSizeUnlimited`` or at least 1 MiB; with any other size every
/// operation of the database fails with `invalidArgument`.
public final class MemoryLRUGCSettings: NSObject, MemoryGarbageCollectorSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    let sizeBytes: Int64

    /// A size of 100 MiB.
    public override convenience init() {
        self.init(policyBytes: CachePolicy.defaultBytes)
    }

    /// A size in bytes.
    public convenience init(sizeBytes: NSNumber) {
        self.init(policyBytes: sizeBytes.int64Value)
    }

    /// A size in bytes.
    public convenience init(sizeBytes: Int) {
        self.init(policyBytes: Int64(sizeBytes))
    }

    init(policyBytes: Int64) {
        sizeBytes = policyBytes
    }

    /// Whether the other object is such settings with the same size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? MemoryLRUGCSettings)?.sizeBytes == sizeBytes
    }

    /// A hash of the size.
    public override var hash: Int { sizeBytes.hashValue }
}
