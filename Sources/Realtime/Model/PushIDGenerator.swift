import Synchronization

/// Makes keys that sort in the order of their creation: 8 characters of time, 12 random ones.
///
/// Keys ascend even if the clock stands still or steps back: the random part then counts up, and
/// when it is used up, the time part does.
package final class PushIDGenerator: Sendable {
    fileprivate struct State {
        var milliseconds: Int64 = -1
        /// The last twelve characters as digits of base 64, the most significant first.
        var digits = [UInt8](repeating: 0, count: 12)
        var random: any RandomNumberGenerator & Sendable
    }

    private let state: Mutex<State>

    /// A generator with its source of random numbers.
    package init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        state = Mutex(State(random: random))
    }

    /// A new key.
    ///
    /// - Parameter milliseconds: the estimated time of the server, since the Unix epoch.
    package func next(at milliseconds: Int64) -> ChildKey {
        state.withLock { state in
            let isLater = milliseconds > state.milliseconds
            if isLater { state.milliseconds = milliseconds }
            if isLater || !state.increment() { state.draw(nextMillisecond: !isLater) }
            return ChildKey(state.text)
        }
    }

    fileprivate static let alphabet = Array(
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
}

extension PushIDGenerator.State {
    /// Adds one to the digits; false if they overflow.
    fileprivate mutating func increment() -> Bool {
        for place in digits.indices.reversed() {
            if digits[place] < 63 {
                digits[place] += 1
                return true
            }
            digits[place] = 0
        }
        return false
    }

    fileprivate mutating func draw(nextMillisecond: Bool) {
        if nextMillisecond { milliseconds += 1 }
        for place in digits.indices { digits[place] = UInt8.random(in: 0..<64, using: &random) }
    }

    fileprivate var text: String {
        let time = (0..<8).map { UInt8(milliseconds >> (6 * (7 - $0)) & 63) }
        return String(
            decoding: (time + digits).map { PushIDGenerator.alphabet[Int($0)] }, as: UTF8.self)
    }
}
