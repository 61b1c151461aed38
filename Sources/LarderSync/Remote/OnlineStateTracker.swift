package import LarderModel

/// Finds out of what happens to watch streams whether the backend can be reached.
///
/// A machine without a clock: the owner sets the timer and tells when it has fired. The first
/// failure means offline, unless the backend had answered before: then the next attempt decides.
package struct OnlineStateTracker: Sendable {
    /// What the owner is to do.
    package enum Effect: Sendable, Equatable {
        /// Set ``EngineTimer/onlineState``, which is not set.
        case setTimer(Duration)
        /// Cancel it, which is set.
        case cancelTimer
        /// Tell everybody of the new state.
        case changed(OnlineState)
        /// Tell the log that the backend is away; once, until it has answered.
        case warn(String)
    }

    /// After so long without an answer the backend counts as offline, unless it is said otherwise.
    package static let defaultTimeout = Duration.seconds(10)

    /// Whether the backend can be reached.
    package private(set) var state = OnlineState.unknown
    /// Why it is that; it may change where ``state`` does not.
    package private(set) var reason = NetworkReason.notAsked

    private let timeout: Duration
    private let remembersOutages: Bool
    /// Why the backend was away when it was last asked.
    private var outage: NetworkReason?
    private var hasFailed = false
    private var isTimerSet = false
    private var shouldWarn = true

    /// Nothing is known yet.
    ///
    /// - Parameters:
    ///   - timeout: after so long without an answer the backend counts as offline.
    ///   - remembersOutages: whether a backend that was away is still so for whoever asks next,
    ///     until it is tried again.
    package init(timeout: Duration = Self.defaultTimeout, remembersOutages: Bool = false) {
        self.timeout = max(timeout, .zero)
        self.remembersOutages = remembersOutages
    }

    /// A watch stream is wanted.
    ///
    /// - Parameter isAttempt: whether it is being opened now, rather than later, or since before.
    package mutating func streamStarted(isAttempt: Bool = true) -> [Effect] {
        guard !hasFailed else { return [] }
        if !isAttempt, remembersOutages, let outage { return change(to: .offline, outage) }
        var effects = change(to: .unknown, .connecting)
        if !isTimerSet {
            isTimerSet = true
            effects.append(.setTimer(timeout))
        }
        return effects
    }

    /// A watch stream has ended with an error, or could not be opened.
    package mutating func streamFailed(_ error: LarderError) -> [Effect] {
        if state == .online { return change(to: .unknown, .streamFailed(error)) }
        hasFailed = true
        outage = .streamFailed(error)
        return cancelTimer() + warn(error.description)
            + change(to: .offline, .streamFailed(error))
    }

    /// The timer has fired.
    package mutating func timerFired() -> [Effect] {
        guard isTimerSet else { return [] }
        isTimerSet = false
        outage = .timedOut
        // Who does not want to wait at all takes every beginning for offline.
        let warning = timeout == .zero ? [] : warn("no answer within \(timeout)")
        return warning + change(to: .offline, .timedOut)
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

    private mutating func change(to state: OnlineState, _ reason: NetworkReason) -> [Effect] {
        self.reason = reason
        guard state != self.state else { return [] }
        self.state = state
        return [.changed(state)]
    }

    private mutating func cancelTimer() -> [Effect] {
        guard isTimerSet else { return [] }
        isTimerSet = false
        return [.cancelTimer]
    }

    private mutating func warn(_ reason: String) -> [Effect] {
        guard shouldWarn else { return [] }
        shouldWarn = false
        return [.warn("The backend cannot be reached; what is cached is used. \(reason)")]
    }
}
