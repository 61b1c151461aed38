package import LarderModel

/// Decides from the events of one kind of stream whether the backend is reachable.
///
/// A machine without a clock: the owner sets the timer, reports its end, and passes its own time
/// where that matters. The first failure means offline, unless the backend had answered before:
/// then the next attempt decides. A stream that has answered, is asked something and stays silent
/// for the time of the timer means offline, too; it goes on, and its next answer means online.
package struct OnlineStateTracker: Sendable {
    /// What the owner is to do.
    package enum Effect: Sendable, Equatable {
        /// Set the tracker's timer, which is not set.
        case setTimer(Duration)
        /// Cancel it, which is set.
        case cancelTimer
        /// Report the new state.
        case changed(OnlineState)
        /// Log that the backend is unreachable; once, until it has answered.
        case warn(String)
    }

    /// After so long without an answer the backend counts as offline, unless it is said otherwise.
    package static let defaultTimeout = Duration.seconds(10)
    /// A backend that has answered may be silent for so long at least.
    private static let shortestSilence = Duration.seconds(1)

    /// Whether the backend can be reached.
    package private(set) var state = OnlineState.unknown
    /// Why it is that; it may change where ``state`` does not.
    package private(set) var reason = NetworkReason.notAsked
    /// Whether the backend counts as offline only because an open stream is silent: what was
    /// current on it still is, and will not be repeated.
    package private(set) var isSilent = false

    private let timeout: Duration
    private let remembersOutages: Bool
    /// Why the backend was away when it was last asked.
    private var outage: NetworkReason?
    private var hasFailed = false
    private var isTimerSet = false
    private var shouldWarn = true
    /// When the backend answered last.
    private var lastAnswer: Duration?

    /// Nothing is known yet.
    ///
    /// - Parameters:
    ///   - timeout: after so long without an answer the backend counts as offline.
    ///   - remembersOutages: whether a backend that was away is still so for any later request,
    ///     until it is tried again.
    package init(timeout: Duration = Self.defaultTimeout, remembersOutages: Bool = false) {
        self.timeout = max(timeout, .zero)
        self.remembersOutages = remembersOutages
    }

    /// How long a backend that could be reached may take to answer.
    package static func silence(_ timeout: Duration) -> Duration {
        max(timeout, shortestSilence)
    }

    /// A stream is wanted.
    ///
    /// - Parameter isAttempt: whether it is being opened now, rather than later, or since before.
    package mutating func streamStarted(isAttempt: Bool = true) -> [Effect] {
        guard !hasFailed else { return [] }
        guard state != .online else { return asked() }
        if !isAttempt, remembersOutages, let outage { return change(to: .offline, outage) }
        return change(to: .unknown, .connecting) + setTimer(timeout)
    }

    /// Something was asked on the open stream, and is to be answered.
    package mutating func asked() -> [Effect] {
        state == .online ? setTimer(Self.silence(timeout)) : []
    }

    /// The backend has answered.
    ///
    /// - Parameters:
    ///   - now: the owner's time.
    ///   - awaitsMore: whether something that was asked is not answered yet.
    package mutating func answered(at now: Duration, awaitsMore: Bool = false) -> [Effect] {
        lastAnswer = now
        guard awaitsMore else { return set(.online, .answered) }
        hasFailed = false
        outage = nil
        shouldWarn = true
        return change(to: .online, .answered) + setTimer(Self.silence(timeout))
    }

    /// Nothing that was asked on the open stream waits for an answer any more.
    package mutating func everythingAnswered() -> [Effect] {
        state == .online ? cancelTimer() : []
    }

    /// A stream has ended with an error, or could not be opened.
    package mutating func streamFailed(_ error: LarderError) -> [Effect] {
        if state == .online {
            return cancelTimer() + change(to: .unknown, .streamFailed(error))
        }
        hasFailed = true
        outage = .streamFailed(error)
        return cancelTimer() + warn(error.description)
            + change(to: .offline, .streamFailed(error))
    }

    /// The timer has fired.
    package mutating func timerFired(at now: Duration) -> [Effect] {
        guard isTimerSet else { return [] }
        isTimerSet = false
        let isSilent = state == .online
        let silence = isSilent ? Self.silence(timeout) : timeout
        if isSilent, let lastAnswer, lastAnswer + silence > now {
            return setTimer(lastAnswer + silence - now)
        }
        outage = .timedOut
        // No patience at all makes every beginning an outage.
        let warning = silence == .zero ? [] : warn("no answer within \(silence)")
        return warning + change(to: .offline, .timedOut, isSilent: isSilent)
    }

    /// Nothing is asked any more.
    package mutating func becameIdle() -> [Effect] {
        let outage = outage
        defer { self.outage = outage }
        return set(.unknown, .notAsked)
    }

    /// Sets the state for a reason that lies elsewhere, and forgets what failed before: the
    /// backend has answered, the network was disabled.
    package mutating func set(_ state: OnlineState, _ reason: NetworkReason) -> [Effect] {
        hasFailed = false
        outage = nil
        if state == .online { shouldWarn = true }
        return cancelTimer() + change(to: state, reason)
    }

    private mutating func change(
        to state: OnlineState, _ reason: NetworkReason, isSilent: Bool = false
    ) -> [Effect] {
        self.reason = reason
        self.isSilent = isSilent
        guard state != self.state else { return [] }
        self.state = state
        return [.changed(state)]
    }

    private mutating func setTimer(_ delay: Duration) -> [Effect] {
        guard !isTimerSet else { return [] }
        isTimerSet = true
        return [.setTimer(delay)]
    }

    private mutating func cancelTimer() -> [Effect] {
        guard isTimerSet else { return [] }
        isTimerSet = false
        return [.cancelTimer]
    }

    private mutating func warn(_ reason: String) -> [Effect] {
        guard shouldWarn else { return [] }
        shouldWarn = false
        return [
            .warn(
                "The backend cannot be reached; the cache answers, and writes wait. \(reason)")
        ]
    }
}
