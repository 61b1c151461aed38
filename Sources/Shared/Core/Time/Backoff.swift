/// Exponential backoff: the delays between attempts that fail.
///
/// Delays are jittered, so that clients that failed together do not retry together.
package struct Backoff: Sendable {
    private let initial: Duration
    private let factor: Double
    private let longest: Duration

    private var base = Duration.zero
    private var lastAttempt: Duration?

    /// Creates a backoff whose first attempt does not wait.
    ///
    /// - Parameters:
    ///   - initial: the delay of the second attempt.
    ///   - factor: the ratio of a delay to the one before.
    ///   - longest: the upper bound of the delays, before jitter.
    package init(initial: Duration, factor: Double, longest: Duration) {
        self.initial = initial
        self.factor = factor
        self.longest = longest
    }

    /// The next attempt does not wait.
    package mutating func reset() {
        base = .zero
    }

    /// The next attempt waits for the longest delay.
    package mutating func resetToMax() {
        base = longest
    }

    /// The delay of the next attempt, less the time since the last one; records the attempt.
    ///
    /// - Parameters:
    ///   - now: the time on a monotonic clock.
    ///   - jitter: a random number in -0.5...0.5: the fraction by which the delay is extended.
    package mutating func nextDelay(now: Duration, jitter: Double) -> Duration {
        let wanted = base + base * min(max(jitter, -0.5), 0.5)
        let waited = max(.zero, now - (lastAttempt ?? now))
        let delay = max(.zero, wanted - waited)
        lastAttempt = now + delay
        base = min(max(base * factor, initial), longest)
        return delay
    }
}
