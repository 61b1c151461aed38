/// How long to wait between attempts that fail, longer each time.
///
/// Waits vary at random, so that clients that failed together do not try again together.
package struct Backoff: Sendable {
    private static let initial = Duration.seconds(1)
    private static let factor = 1.5
    private static let longest = Duration.seconds(60)

    private var base = Duration.zero
    private var lastAttempt: Duration?

    /// The first attempt does not wait.
    package init() {}

    /// The next attempt does not wait.
    package mutating func reset() {
        base = .zero
    }

    /// The next attempt waits as long as any.
    package mutating func resetToMax() {
        base = Self.longest
    }

    /// How long the next attempt waits, which is counted from then on as the last one.
    ///
    /// The time since the last attempt counts as waited.
    ///
    /// - Parameters:
    ///   - now: the time on a clock that does not stop.
    ///   - jitter: a random number in -0.5...0.5, the part of the wait by which it is longer.
    package mutating func nextDelay(now: Duration, jitter: Double) -> Duration {
        let wanted = base + base * min(max(jitter, -0.5), 0.5)
        let waited = max(.zero, now - (lastAttempt ?? now))
        let delay = max(.zero, wanted - waited)
        lastAttempt = now + delay
        base = min(max(base * Self.factor, Self.initial), Self.longest)
        return delay
    }
}
