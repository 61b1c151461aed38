public import Foundation

/// A store on disk, which a restart finds again: what a database has unless it is told
/// otherwise.
///
/// The size is what the store may occupy before documents are evicted that were used least
/// recently and that nothing pins. It is ``FirestoreCacheSizeUnlimited`` or at least 1 MiB; with
/// any other size every operation of the database fails with `invalidArgument`.
public final class PersistentCacheSettings: NSObject, LocalCacheSettings, @unchecked Sendable {
    // Immutable; NSObject is not declared Sendable.

    let sizeBytes: Int64

    /// A store of up to 100 MiB.
    public override convenience init() {
        self.init(policyBytes: CachePolicy.defaultBytes)
    }

    /// A store of up to a number of bytes.
    public convenience init(sizeBytes: NSNumber) {
        self.init(policyBytes: sizeBytes.int64Value)
    }

    /// A store of up to a number of bytes.
    public convenience init(sizeBytes: Int) {
        self.init(policyBytes: Int64(sizeBytes))
    }

    init(policyBytes: Int64) {
        sizeBytes = policyBytes
    }

    /// Whether the other object is such settings with the same size.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? PersistentCacheSettings)?.sizeBytes == sizeBytes
    }

    /// A hash of the size.
    public override var hash: Int { sizeBytes.hashValue }
}
