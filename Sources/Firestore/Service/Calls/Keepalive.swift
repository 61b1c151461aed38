import NIOCore

/// Finds out whether the other end of a connection is still there.
struct Keepalive {
    /// What is to be done about it.
    enum Action: Equatable {
        /// Nothing before so much time has passed.
        case wait(TimeAmount)
        /// Ask for a sign of life, and look again when so much time has passed.
        case ask(TimeAmount)
        /// Nobody is there.
        case close
    }

    private let interval: TimeAmount
    /// Both times together; where that is more than can be counted, for ever.
    private let limit: TimeAmount
    private var heard: NIODeadline

    /// - Parameters:
    ///   - interval: how long the other end may be silent before it is asked.
    ///   - timeout: how long it may take then.
    init(interval: Duration, timeout: Duration, now: NIODeadline) {
        self.interval = TimeAmount(interval)
        let (sum, isForEver) = self.interval.nanoseconds.addingReportingOverflow(
            TimeAmount(timeout).nanoseconds)
        limit = .nanoseconds(isForEver ? .max : sum)
        heard = now
    }

    /// Something has come.
    mutating func hear(at now: NIODeadline) {
        heard = now
    }

    /// What is to be done.
    func action(at now: NIODeadline) -> Action {
        let silence = now - heard
        if silence < interval { return .wait(interval - silence) }
        return silence < limit ? .ask(limit - silence) : .close
    }
}

/// Counts a client's requests for signs of life that come too soon after each other.
///
/// Each of them makes the server work for nothing (gRPC's proposal A8).
struct PingGuard {
    /// How many may come too soon before something else is said.
    private static let patience = 2

    private let interval: TimeAmount
    private var last: NIODeadline?
    private var strikes = 0

    /// - Parameter interval: how much time is to pass at least between two.
    init(interval: Duration) {
        self.interval = TimeAmount(interval)
    }

    /// The server has said something: clients measure the way with what follows.
    mutating func reset() {
        (last, strikes) = (nil, 0)
    }

    /// Whether one more is borne.
    mutating func admits(at now: NIODeadline) -> Bool {
        guard let last, now - last < interval else {
            last = now
            return true
        }
        strikes += 1
        return strikes <= Self.patience
    }
}
