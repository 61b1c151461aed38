package import LarderCore

/// Decides from the events of one kind of stream whether the backend is reachable.
///
/// A pure machine: the owner runs the timer and passes the time. The first failure means offline,
/// unless the backend had answered before: then the next attempt decides. An open stream that
/// leaves a request unanswered until the timer fires also means offline; the stream stays open,
/// and its next response means online.
package struct OnlineStateTracker: Sendable {
    /// An action that the owner performs.
    package enum Effect: Sendable, Equatable {
        /// Set the tracker's timer; it is not running.
        case setTimer(Duration)
        /// Cancel the timer; it is running.
        case cancelTimer
        /// Report the new state.
        case changed(OnlineState)
        /// Log that the backend is unreachable; at most once per outage.
        case warn(String)
    }

    /// The default time without an answer after which the backend is considered offline.
    package static let defaultTimeout = Duration.seconds(10)
    /// The lower bound of ``silence(_:)``.
    private static let shortestSilence = Duration.seconds(1)

    /// The decision.
    package private(set) var state = OnlineState.unknown
    /// The cause of ``state``; it may change while the state stays.
    package private(set) var reason = NetworkReason.notAsked
    /// True if the backend is considered offline only because an open stream is silent: targets
    /// that are current on it stay current, and the backend will not repeat that they are.
    package private(set) var isSilent = false

    private let timeout: Duration
    private let remembersOutages: Bool
    /// The cause of the last outage, until the backend is tried again.
    private var outage: NetworkReason?
    private var hasFailed = false
    private var isTimerSet = false
    private var shouldWarn = true
    /// Time of the last answer.
    private var lastAnswer: Duration?

    /// Creates a tracker in the state ``OnlineState/unknown``.
    ///
    /// - Parameters:
    ///   - timeout: the time without an answer after which the backend is considered offline.
    ///   - remembersOutages: whether an outage outlasts an idle period, until the next attempt.
    package init(timeout: Duration = Self.defaultTimeout, remembersOutages: Bool = false) {
        self.timeout = max(timeout, .zero)
        self.remembersOutages = remembersOutages
    }

    /// The time that a reachable backend has to answer.
    package static func silence(_ timeout: Duration) -> Duration {
        max(timeout, shortestSilence)
    }

    /// A stream is needed.
    ///
    /// - Parameter isAttempt: true if it is being opened now, false if it opens later or was
    ///   opening already.
    package mutating func streamStarted(isAttempt: Bool = true) -> [Effect] {
        guard !hasFailed else { return [] }
        guard state != .online else { return asked() }
        if !isAttempt, remembersOutages, let outage { return change(to: .offline, outage) }
        return change(to: .unknown, .connecting) + setTimer(timeout)
    }

    /// A request that the backend will answer was sent on the open stream.
    package mutating func asked() -> [Effect] {
        state == .online ? setTimer(Self.silence(timeout)) : []
    }

    /// The backend has answered.
    ///
    /// - Parameters:
    ///   - now: the owner's time.
    ///   - awaitsMore: whether requests are still unanswered.
    package mutating func answered(at now: Duration, awaitsMore: Bool = false) -> [Effect] {
        lastAnswer = now
        guard awaitsMore else { return set(.online, .answered) }
        hasFailed = false
        outage = nil
        shouldWarn = true
        return change(to: .online, .answered) + setTimer(Self.silence(timeout))
    }

    /// No request on the open stream is unanswered any more.
    package mutating func everythingAnswered() -> [Effect] {
        state == .online ? cancelTimer() : []
    }

    /// A stream ended with an error, or could not be opened.
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
        // With a timeout of zero every start would be reported as an outage.
        let warning = silence == .zero ? [] : warn("no answer within \(silence)")
        return warning + change(to: .offline, .timedOut, isSilent: isSilent)
    }

    /// No stream is needed any more.
    package mutating func becameIdle() -> [Effect] {
        let outage = outage
        defer { self.outage = outage }
        return set(.unknown, .notAsked)
    }

    /// Sets the state for an external reason, such as a disabled network, and forgets earlier
    /// failures.
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
