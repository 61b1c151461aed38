import LarderModel
import LarderRemote

/// The life of one stream after the other, of one kind: when it is opened, closed and tried
/// again.
///
///     stopped --start--> opening --opened--> open --10 s--> healthy
///        ^                  |                  |               |
///        |                  +------- fail -----+---------------+
///        |                            v
///        |      waiting <--start-- failed          `stop` leads from everywhere to `stopped`
///        +--backoff--+
struct StreamMachine: Sendable {
    /// What differs between the kinds of stream.
    struct Kind: Sendable {
        let open: @Sendable (Int) -> RemoteStore.Effect
        let close: RemoteStore.Effect
        let idle: EngineTimer
        let backoff: EngineTimer
        let health: EngineTimer

        static let watch = Kind(
            open: { .openWatchStream(generation: $0) }, close: .closeWatchStream,
            idle: .watchStreamIdle, backoff: .watchStreamBackoff, health: .watchStreamHealth)
        static let write = Kind(
            open: { .openWriteStream(generation: $0) }, close: .closeWriteStream,
            idle: .writeStreamIdle, backoff: .writeStreamBackoff, health: .writeStreamHealth)
    }

    /// Where a stream is.
    enum State: Sendable {
        /// There is none, and the next one opens at once.
        case stopped
        /// There is none, since the last one failed; the next one waits first.
        case failed
        /// There will be one when the backoff has passed.
        case waiting
        /// It was asked for.
        case opening
        /// It is there.
        case open
        /// It has been there for a while.
        case healthy
    }

    /// How long a stream that nobody needs stays open.
    static let idleTimeout = Duration.seconds(60)
    /// After how long an open stream counts as healthy.
    static let healthTimeout = Duration.seconds(10)

    private(set) var state = State.stopped
    /// The number of the last stream that was opened; events of earlier ones do not count.
    private(set) var generation = 0
    private let kind: Kind
    private var backoff = Backoff()
    private var isIdle = false
    /// Whether the backend has answered on the last stream that was opened.
    private var hasAnswered = false
    /// Whether the last stream failed because the backend could not be reached or asked at all.
    private var wasCutOff = false

    init(_ kind: Kind) {
        self.kind = kind
    }

    /// Whether there is a stream.
    var isOpen: Bool { state == .open || state == .healthy }

    /// Whether the next stream waits, or waited, for the backoff.
    var isHeldBack: Bool { state == .failed || state == .waiting }

    /// Whether events of a stream count.
    func isCurrent(_ generation: Int) -> Bool {
        generation == self.generation && (isOpen || state == .opening)
    }

    /// Opens a stream: at once, or after a failure when the backoff has passed.
    ///
    /// - Parameters:
    ///   - now: the owner's time.
    ///   - jitter: gives random numbers, each from 0 up to but not 1.
    /// - Returns: whether that is now.
    @discardableResult
    mutating func start(
        at now: Duration, jitter: () -> Double, _ effects: inout [RemoteStore.Effect]
    ) -> Bool {
        switch state {
        case .stopped:
            open(&effects)
            return true
        case .failed:
            state = .waiting
            let delay = backoff.nextDelay(now: now, jitter: jitter() - 0.5)
            effects.append(.schedule(kind.backoff, after: delay))
            return delay == .zero
        case .waiting, .opening, .open, .healthy:
            return false
        }
    }

    private mutating func open(_ effects: inout [RemoteStore.Effect]) {
        state = .opening
        hasAnswered = false
        generation += 1
        effects.append(kind.open(generation))
    }

    /// Notes that the stream is open.
    mutating func opened(_ effects: inout [RemoteStore.Effect]) {
        state = .open
        effects.append(.schedule(kind.health, after: Self.healthTimeout))
    }

    /// Notes that the stream has done what it is for, so that the next failure is a first one.
    mutating func succeeded() {
        backoff.reset()
    }

    /// Notes that the backend has answered.
    ///
    /// - Returns: whether it is the stream's first answer.
    mutating func answered() -> Bool {
        defer { hasAnswered = true }
        return !hasAnswered
    }

    /// Ends the wait for another attempt, since the backend has answered elsewhere; a backend that
    /// answered the last attempt with an error of its own is left alone as long as before.
    ///
    /// - Returns: whether a stream opens.
    mutating func outageEnded(isNeeded: Bool, _ effects: inout [RemoteStore.Effect]) -> Bool {
        guard wasCutOff, isHeldBack else { return false }
        backoff.reset()
        guard state == .waiting else { return false }
        effects.append(.cancel(kind.backoff))
        state = .stopped
        if isNeeded { open(&effects) }
        return isNeeded
    }

    /// Ends the stream because nobody needs it; the next one opens at once.
    mutating func stop(_ effects: inout [RemoteStore.Effect]) {
        leave(&effects)
        state = .stopped
        backoff.reset()
    }

    /// Ends the stream because it failed; the next one waits.
    mutating func fail(_ error: LarderError?, _ effects: inout [RemoteStore.Effect]) {
        if error?.kind == .resourceExhausted { backoff.resetToMax() }
        let isRefused = error?.kind == .unauthenticated && state != .healthy
        wasCutOff = error?.kind.tellsOfOutage ?? true
        leave(&effects)
        state = .failed
        if isRefused { effects.append(.invalidateToken) }
    }

    private mutating func leave(_ effects: inout [RemoteStore.Effect]) {
        markBusy(&effects)
        switch state {
        case .stopped, .failed: break
        case .waiting: effects.append(.cancel(kind.backoff))
        case .opening: effects.append(kind.close)
        case .open: effects += [.cancel(kind.health), kind.close]
        case .healthy: effects.append(kind.close)
        }
    }

    /// Lets the stream end after a while, unless it is used again.
    mutating func markIdle(_ effects: inout [RemoteStore.Effect]) {
        guard isOpen, !isIdle else { return }
        isIdle = true
        effects.append(.schedule(kind.idle, after: Self.idleTimeout))
    }

    /// Notes that the stream is used.
    mutating func markBusy(_ effects: inout [RemoteStore.Effect]) {
        guard isIdle else { return }
        isIdle = false
        effects.append(.cancel(kind.idle))
    }

    /// Notes the end of the idle timer.
    ///
    /// - Returns: whether it was set: the stream is to be stopped.
    mutating func idleTimerFired() -> Bool {
        defer { isIdle = false }
        return isIdle
    }

    /// Notes the end of the health timer.
    mutating func healthTimerFired() {
        if state == .open { state = .healthy }
    }

    /// Notes the end of the backoff timer: the stream opens, if it is needed still.
    mutating func backoffTimerFired(isNeeded: Bool, _ effects: inout [RemoteStore.Effect]) {
        guard state == .waiting else { return }
        state = .stopped
        if isNeeded { open(&effects) }
    }
}

extension LarderError.Code {
    /// Whether it says that the backend could not be reached, or would not listen to the client.
    fileprivate var tellsOfOutage: Bool {
        switch self {
        case .unavailable, .deadlineExceeded, .unauthenticated, .unknown: true
        default: false
        }
    }
}
