package import LarderCore

/// The life cycle of one kind of stream: when it is opened, closed and retried.
///
///     stopped --start--> opening --opened--> open --10 s--> healthy
///        ^                  |                  |               |
///        |                  +------- fail -----+---------------+
///        |                            v
///        |      waiting <--start-- failed          `stop` leads from everywhere to `stopped`
///        +--backoff--+
///
/// A pure machine: each event returns the actions that the owner performs, in order. A timer that
/// fires although it is not running is ignored.
package struct StreamMachine: Sendable {
    /// The timers of a stream.
    package enum Timer: Sendable {
        /// Closes an unused stream.
        case idle
        /// Opens the next stream after a failure.
        case backoff
        /// Marks an open stream as healthy.
        case health
    }

    /// An action that the owner performs.
    package enum Effect: Sendable, Equatable {
        /// Opens a stream; its events come back with its generation.
        case open(generation: Int)
        /// Closes the stream.
        case close
        /// Sets a timer that is not running.
        case schedule(Timer, after: Duration)
        /// Cancels a timer.
        case cancel(Timer)
        /// Discards the access token, which the backend has refused.
        case invalidateToken
        /// Logs an event that is impossible in the machine's state; it changed nothing.
        case impossible(String)
    }

    private enum State: Sendable {
        /// The next stream opens at once.
        case stopped
        /// The last stream failed; the next one waits for the backoff.
        case failed(wasCutOff: Bool)
        /// A stream opens when the backoff has passed.
        case waiting(wasCutOff: Bool)
        case opening
        case open(OpenStream)
    }

    private struct OpenStream: Sendable {
        var isHealthy = false
        /// True while the idle timer runs.
        var isIdle = false
        /// True once the backend has answered on the stream.
        var hasAnswered = false
        /// The backoff before the stream succeeded.
        var earlierBackoff: Backoff?
    }

    private static let idleTimeout = Duration.seconds(60)
    private static let healthTimeout = Duration.seconds(10)

    /// The number of the last stream; events of earlier ones are ignored.
    package private(set) var generation = 0
    private var state = State.stopped
    private var backoff: Backoff

    /// Creates a machine without a stream.
    package init(backoff: Backoff) {
        self.backoff = backoff
    }

    /// True while a stream is open.
    package var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// True if the next stream waits for the backoff.
    package var isHeldBack: Bool {
        switch state {
        case .failed, .waiting: true
        case .stopped, .opening, .open: false
        }
    }

    /// True if the stream of a generation is the one that is open or opening.
    package func isCurrent(_ generation: Int) -> Bool {
        guard generation == self.generation else { return false }
        switch state {
        case .opening, .open: return true
        case .stopped, .failed, .waiting: return false
        }
    }
}

// MARK: - Opening

extension StreamMachine {
    /// A stream is needed: it opens at once, or after a failure when the backoff has passed.
    ///
    /// - Parameters:
    ///   - now: the owner's time.
    ///   - jitter: gives random numbers, each from 0 up to but not 1.
    /// - Returns: true if this is a new attempt that does not wait, and the actions.
    package mutating func start(at now: Duration, jitter: () -> Double)
        -> (isAttempt: Bool, effects: [Effect])
    {
        switch state {
        case .stopped:
            return (true, open())
        case .failed(let wasCutOff):
            state = .waiting(wasCutOff: wasCutOff)
            let delay = backoff.nextDelay(now: now, jitter: jitter() - 0.5)
            return (delay == .zero, [.schedule(.backoff, after: delay)])
        case .waiting, .opening, .open:
            return (false, [])
        }
    }

    private mutating func open() -> [Effect] {
        state = .opening
        generation += 1
        return [.open(generation: generation)]
    }

    /// The stream is open.
    package mutating func opened() -> [Effect] {
        guard case .opening = state else { return impossible("opened") }
        state = .open(OpenStream())
        return [.schedule(.health, after: Self.healthTimeout)]
    }

    /// The backoff timer fired: the stream opens if it is still needed.
    package mutating func backoffTimerFired(isNeeded: Bool) -> [Effect] {
        guard case .waiting = state else { return [] }
        state = .stopped
        return isNeeded ? open() : []
    }

    /// The backend has answered on another stream: the wait for an unreachable backend ends.
    ///
    /// A wait that the backend caused by an error response stays.
    ///
    /// - Returns: true if a stream opens, and the actions.
    package mutating func outageEnded(isNeeded: Bool) -> (isAttempt: Bool, effects: [Effect]) {
        switch state {
        case .failed(wasCutOff: true):
            backoff.reset()
            return (false, [])
        case .waiting(wasCutOff: true):
            backoff.reset()
            state = .stopped
            return (isNeeded, [.cancel(.backoff)] + (isNeeded ? open() : []))
        case .stopped, .failed, .waiting, .opening, .open:
            return (false, [])
        }
    }
}

// MARK: - An open stream

extension StreamMachine {
    /// The stream has served its purpose: the backoff starts over at the next failure.
    ///
    /// - Parameter isProgress: false for an answer that the next stream may receive again. If the
    ///   backend then fails the stream with an error before it is healthy, the backoff goes on, so
    ///   that an answer which leads to an error each time is not requested without a pause.
    package mutating func succeeded(isProgress: Bool = true) {
        if !isProgress, case .open(var stream) = state, stream.earlierBackoff == nil {
            stream.earlierBackoff = backoff
            state = .open(stream)
        }
        backoff.reset()
    }

    /// The backend has answered on the open stream.
    ///
    /// - Returns: true for the stream's first answer, and the actions.
    package mutating func answered() -> (isFirst: Bool, effects: [Effect]) {
        guard case .open(var stream) = state else { return (false, impossible("an answer")) }
        let isFirst = !stream.hasAnswered
        stream.hasAnswered = true
        state = .open(stream)
        return (isFirst, [])
    }

    /// The stream is unused: an open one is closed after a while, unless it is used again.
    package mutating func markIdle() -> [Effect] {
        guard case .open(var stream) = state, !stream.isIdle else { return [] }
        stream.isIdle = true
        state = .open(stream)
        return [.schedule(.idle, after: Self.idleTimeout)]
    }

    /// The stream is used.
    package mutating func markBusy() -> [Effect] {
        guard case .open(var stream) = state, stream.isIdle else { return [] }
        stream.isIdle = false
        state = .open(stream)
        return [.cancel(.idle)]
    }

    /// The idle timer fired.
    ///
    /// - Returns: true if the timer was running; the owner then stops the stream.
    package mutating func idleTimerFired() -> Bool {
        guard case .open(var stream) = state, stream.isIdle else { return false }
        stream.isIdle = false
        state = .open(stream)
        return true
    }

    /// The health timer fired.
    package mutating func healthTimerFired() {
        guard case .open(var stream) = state else { return }
        stream.isHealthy = true
        state = .open(stream)
    }
}

// MARK: - Closing

extension StreamMachine {
    /// The stream is not needed; the next one opens at once.
    package mutating func stop() -> [Effect] {
        defer {
            state = .stopped
            backoff.reset()
        }
        return closing
    }

    /// The stream failed; the next one waits for the backoff.
    package mutating func fail(_ error: LarderError) -> [Effect] {
        var isHealthy = false
        switch state {
        case .open(let stream):
            isHealthy = stream.isHealthy
            if !isHealthy, !error.kind.meansCutOff, let earlier = stream.earlierBackoff {
                backoff = earlier
            }
        case .opening: break
        case .stopped, .failed, .waiting: return impossible("a failure")
        }
        if error.kind == .resourceExhausted { backoff.resetToMax() }
        let isRefused = error.kind == .unauthenticated && !isHealthy
        let effects = closing + (isRefused ? [.invalidateToken] : [])
        state = .failed(wasCutOff: error.kind.meansCutOff)
        return effects
    }

    /// The actions that leave the present state.
    private var closing: [Effect] {
        switch state {
        case .stopped, .failed: return []
        case .waiting: return [.cancel(.backoff)]
        case .opening: return [.close]
        case .open(let stream):
            return (stream.isIdle ? [.cancel(.idle)] : [])
                + (stream.isHealthy ? [.close] : [.cancel(.health), .close])
        }
    }

    private func impossible(_ event: String) -> [Effect] {
        [.impossible("stream \(generation): \(event) while \(state)")]
    }
}

extension LarderError.Code {
    /// True if the backend was unreachable, or would not serve the client.
    fileprivate var meansCutOff: Bool {
        switch self {
        case .unavailable, .deadlineExceeded, .unauthenticated, .unknown: true
        default: false
        }
    }
}
