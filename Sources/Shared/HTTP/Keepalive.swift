import NIOCore

/// Detects a peer that no longer responds.
struct Keepalive {
    enum Action: Equatable {
        /// Check again after this time.
        case wait(TimeAmount)
        /// Send a ping, and check again after this time.
        case ping(TimeAmount)
        /// The peer is gone.
        case close
    }

    private let interval: TimeAmount
    /// The interval and the timeout together; the largest value on overflow.
    private let limit: TimeAmount
    private var lastRead: NIODeadline

    /// - Parameters:
    ///   - interval: how long the peer may be silent before it is pinged.
    ///   - timeout: how long it may take to respond.
    init(interval: Duration, timeout: Duration, now: NIODeadline) {
        self.interval = TimeAmount(interval)
        let (sum, isOverflow) = self.interval.nanoseconds.addingReportingOverflow(
            TimeAmount(timeout).nanoseconds)
        limit = .nanoseconds(isOverflow ? .max : sum)
        lastRead = now
    }

    /// Notes that bytes were received.
    mutating func received(at now: NIODeadline) {
        lastRead = now
    }

    func action(at now: NIODeadline) -> Action {
        let silence = now - lastRead
        if silence < interval { return .wait(interval - silence) }
        return silence < limit ? .ping(limit - silence) : .close
    }
}

/// Counts pings of a client that follow each other too quickly: each makes the server work for
/// nothing (gRPC's proposal A8).
struct PingGuard {
    /// How many pings may come too soon between two writes of the server.
    private static let allowedStrikes = 2

    private let interval: TimeAmount
    private var last: NIODeadline?
    private var strikes = 0

    /// - Parameter interval: the least time between two pings.
    init(interval: Duration) {
        self.interval = TimeAmount(interval)
    }

    /// The server has sent something, which clients follow with a ping to measure bandwidth.
    mutating func reset() {
        (last, strikes) = (nil, 0)
    }

    mutating func admits(at now: NIODeadline) -> Bool {
        guard let last, now - last < interval else {
            last = now
            return true
        }
        strikes += 1
        return strikes <= Self.allowedStrikes
    }
}
