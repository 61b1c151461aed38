/// The rate at which new load may grow: a number of operations a second at first, half as much more
/// every five minutes.
///
/// A bucket of tokens, which holds what one second allows and is full at the start.
package struct RampUp: Sendable {
    private static let factor = 1.5
    private static let period = Duration.seconds(300)

    private let initial: Double
    private let most: Double
    private let start: Duration
    private var tokens: Double
    private var refilled: Duration

    /// - Parameters:
    ///   - initial: the operations a second at the start, at least 1.
    ///   - most: the operations a second that are never exceeded, at least as many.
    ///   - now: the time on a monotonic clock.
    package init(initial: Int, most: Int, at now: Duration) {
        self.initial = Double(max(initial, 1))
        self.most = max(Double(most), self.initial)
        start = now
        refilled = now
        tokens = self.initial
    }

    /// The operations that a second allows.
    package func capacity(at now: Duration) -> Double {
        var capacity = initial
        var time = start + Self.period
        while time <= now, capacity < most {
            capacity *= Self.factor
            time += Self.period
        }
        return min(capacity, most)
    }

    /// Takes tokens for some operations, at most one second's.
    ///
    /// - Returns: zero if they were taken; otherwise the delay until they can be.
    package mutating func take(_ count: Int, at now: Duration) -> Duration {
        let capacity = capacity(at: now)
        tokens = min(capacity, tokens + capacity * max(.zero, now - refilled).seconds)
        refilled = now
        let missing = Double(count) - tokens
        // A fraction of a token is rounding.
        guard missing > 1e-6 else {
            tokens -= Double(count)
            return .zero
        }
        return .seconds(missing / capacity)
    }
}

extension Duration {
    fileprivate var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
