package import Dispatch

extension Duration {
    /// The duration in nanoseconds: none for a negative one, a century for a longer one.
    var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(min(seconds, 3_155_760_000)) * 1_000_000_000
            + UInt64(attoseconds / 1_000_000_000)
    }

    /// The duration for Dispatch: none for a negative one, a century for a longer one.
    package var dispatchInterval: DispatchTimeInterval { .nanoseconds(Int(clampedNanoseconds)) }
}
