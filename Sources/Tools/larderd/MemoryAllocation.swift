#if canImport(Glibc)
    import Glibc
#endif

/// The settings of the C library's allocator.
///
/// By default glibc raises its threshold for maps of their own to the largest block that was ever
/// released, up to 32 MiB: later requests and responses come from heaps, where one small block that
/// lives on keeps all released memory below it. It has up to eight heaps for each processor.
enum MemoryAllocation {
    /// The size from which a block is a map of its own, which returns to the system at once.
    ///
    /// Most large requests and responses are. With smaller maps, reads of large documents would
    /// wait for the system.
    private static let mapBytes: Int32 = 768 << 10
    /// The free memory at the end of a heap from which it returns to the system.
    private static let trimBytes: Int32 = 1 << 20
    /// The maximum number of heaps.
    private static let heaps: Int32 = 8

    /// The parameters of `mallopt`, which Swift's module of the C library lacks (malloc.h).
    private enum Parameter: CInt {
        case trimThreshold = -1
        case mapThreshold = -3
        case maxHeaps = -8
    }

    /// Sets the thresholds; call it before there are other threads.
    ///
    /// - Returns: whether all are set; false with another C library.
    @discardableResult
    static func configure() -> Bool {
        #if canImport(Glibc)
            guard let symbol = dlsym(nil, "mallopt") else { return false }
            let set = unsafeBitCast(symbol, to: (@convention(c) (CInt, CInt) -> CInt).self)
            let settings: [(Parameter, CInt)] = [
                (.mapThreshold, mapBytes), (.trimThreshold, trimBytes), (.maxHeaps, heaps),
            ]
            return settings.allSatisfy { set($0.rawValue, $1) == 1 }
        #else
            return false
        #endif
    }
}
