public import Foundation

/// In memory, documents go as soon as no listener and no pending write needs them.
public final class MemoryEagerGCSetting: NSObject, MemoryGarbageCollectorSettings,
    @unchecked Sendable
{
    // Immutable; NSObject is not declared Sendable.

    /// The only such setting.
    public override init() {}

    /// Whether the other object is such a setting.
    public override func isEqual(_ object: Any?) -> Bool { object is MemoryEagerGCSetting }

    /// The same for all.
    public override var hash: Int { 1 }
}
