package import LarderCore
package import LarderRuntime

/// The life of a database's connection: when it is made, authenticated, ended and made again.
///
///     interrupted <--interrupt-- (any)
///          |  resume
///          v
///       waiting --retry--> fetchingToken --token--> connecting --hello--> authenticating --ok--+
///          ^                    |                       |            \          |              |
///          |                    |                       |          no token     |              v
///          +------- failure ----+-----------------------+--------------\--------+---------- ready
///                                                                       \--------------------^
///
/// A pure machine: each event returns the actions that the owner performs, in order. Requests are
/// sent while the connection is ready, so that a rejected token costs no write: the connection is
/// closed, a new token is fetched, and the requests are sent on the next one. Attempts are
/// numbered; events of an earlier attempt are ignored.
package struct ConnectionMachine: Sendable {
    /// The timers of a connection.
    package enum Timer: Sendable, Hashable {
        /// Begins the next attempt.
        case retry
        /// Gives up on an attempt that has not become ready.
        case establishment
    }

    /// An action that the owner performs.
    package enum Effect: Sendable, Equatable {
        /// Fetch a token; the answer comes back with the number of the attempt.
        case fetchToken(attempt: Int, forcingRefresh: Bool)
        /// Open a connection; its events come back with the number of the attempt.
        case open(attempt: Int, lastSession: String?)
        /// Close the connection.
        case close
        /// Send a token, or withdraw the one sent before.
        case authenticate(String?)
        /// Forget the token, which the server has refused.
        case discardToken
        /// The connection is ready: resend listens and queued requests.
        case restore
        /// The connection that was ready has ended.
        case lost
        /// Reachability has changed.
        case report(OnlineState, NetworkReason)
        /// Set a timer that is not running.
        case schedule(Timer, after: Duration)
        /// Cancel a timer.
        case cancel(Timer)
    }

    private enum State: Sendable {
        case interrupted
        case waiting
        case fetchingToken
        case connecting(token: String?)
        case authenticating(since: Duration)
        case ready(since: Duration)
    }

    /// The time that an attempt has to become ready: opening, the server's greeting and the answer
    /// to the token.
    private static let establishmentTimeout = Duration.seconds(30)
    /// A connection that has lasted so long was a success: the next one is made without delay.
    private static let successDuration = Duration.seconds(30)
    /// After so many refused tokens in a row the next attempt waits for the longest delay.
    private static let refusedTokenLimit = 3

    /// The number of the last attempt.
    package private(set) var attempt = 0
    private var state = State.interrupted
    private var causes: OfflineCauses = []
    private var lastSession: String?
    private var forcesRefresh = false
    private var refusedTokenCount = 0
    /// The token that was sent last; nil for none.
    private var sentToken: String?
    /// The token that the server has refused last.
    private var refusedToken: String?
    /// True if the next attempt waits because of a token that was refused or could not be fetched.
    private var waitsForToken = false
    private var hasRetryTimer = false
    private var hasEstablishmentTimer = false
    private var backoff: Backoff

    /// A machine that makes no connection until ``start(at:)``.
    ///
    /// The delays between attempts are those of Firebase's clients: 1 s, then 1.3 times the last
    /// one, at most 30 s, reduced by a random part.
    ///
    /// - Parameter lastSession: the session of an earlier run's last connection; nil for none.
    package init(lastSession: String? = nil) {
        self.lastSession = lastSession
        // With the jitter of `Backoff` these give 0.33 to 0.98 of 1 s and of 30 s.
        backoff = Backoff(
            initial: .milliseconds(650), factor: 1.3, longest: .milliseconds(19_500))
    }

    /// True while requests may be sent.
    package var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// True if the events of an attempt still matter.
    package func isCurrent(_ attempt: Int) -> Bool {
        guard attempt == self.attempt else { return false }
        switch state {
        case .interrupted, .waiting: return false
        case .fetchingToken, .connecting, .authenticating, .ready: return true
        }
    }
}

// MARK: - Interruptions

extension ConnectionMachine {
    /// The database is in use: the first attempt begins, unless there is a reason not to use the
    /// network.
    package mutating func start(at now: Duration) -> [Effect] {
        guard causes.isEmpty, case .interrupted = state else { return [] }
        return [.report(.unknown, .connecting)] + beginAtOnce(now)
    }

    /// There is a reason not to use the network.
    package mutating func interrupt(_ cause: OfflineCauses) -> [Effect] {
        guard !causes.isSuperset(of: cause) else { return [] }
        causes.formUnion(cause)
        let effects = ending
        state = .interrupted
        backoff.reset()
        return effects + [.report(.offline, .disabled(causes))]
    }

    /// A reason not to use the network has gone; with the last one the next attempt begins.
    package mutating func resume(_ cause: OfflineCauses, at now: Duration) -> [Effect] {
        guard !causes.isDisjoint(with: cause) else { return [] }
        causes.subtract(cause)
        return causes.isEmpty ? start(at: now) : [.report(.offline, .disabled(causes))]
    }

    /// The network may have come back: an attempt that waits begins now.
    package mutating func reconnect(at now: Duration) -> [Effect] {
        guard case .waiting = state else { return [] }
        return cancelTimers() + beginAtOnce(now)
    }
}

// MARK: - Attempts

extension ConnectionMachine {
    /// Begins the first attempt of a series; the second one waits for the first delay.
    private mutating func beginAtOnce(_ now: Duration) -> [Effect] {
        backoff.reset()
        _ = backoff.nextDelay(now: now, jitter: 0)
        return begin()
    }

    private mutating func begin() -> [Effect] {
        attempt += 1
        state = .fetchingToken
        waitsForToken = false
        hasEstablishmentTimer = true
        defer { forcesRefresh = false }
        return [
            .schedule(.establishment, after: Self.establishmentTimeout),
            .fetchToken(attempt: attempt, forcingRefresh: forcesRefresh),
        ]
    }

    /// The retry timer fired.
    package mutating func retryTimerFired() -> [Effect] {
        guard hasRetryTimer, case .waiting = state else { return [] }
        hasRetryTimer = false
        return begin()
    }

    /// The timer of an attempt fired.
    package mutating func establishmentTimerFired(at now: Duration, jitter: Double) -> [Effect] {
        guard hasEstablishmentTimer else { return [] }
        hasEstablishmentTimer = false
        return end(.timedOut, at: now, jitter: jitter)
    }

    /// The token of an attempt is there; nil where the user is not signed in.
    package mutating func tokenFetched(_ token: String?, attempt: Int) -> [Effect] {
        guard isCurrent(attempt), case .fetchingToken = state else { return [] }
        state = .connecting(token: token)
        return [.open(attempt: attempt, lastSession: lastSession)]
    }

    /// The token of an attempt could not be fetched.
    package mutating func tokenFetchFailed(
        _ error: LarderError, attempt: Int, at now: Duration, jitter: Double
    ) -> [Effect] {
        guard isCurrent(attempt), case .fetchingToken = state else { return [] }
        waitsForToken = true
        return end(.streamFailed(error), at: now, jitter: jitter)
    }

    /// The server has greeted the client.
    package mutating func greeted(session: String, attempt: Int, at now: Duration) -> [Effect] {
        guard isCurrent(attempt), case .connecting(let token) = state else { return [] }
        lastSession = session
        guard let token else { return becomeReady(since: now) }
        state = .authenticating(since: now)
        sentToken = token
        return [.authenticate(token)]
    }

    private mutating func becomeReady(since: Duration) -> [Effect] {
        state = .ready(since: since)
        return cancelEstablishmentTimer() + [.restore, .report(.online, .answered)]
    }
}

// MARK: - Tokens

extension ConnectionMachine {
    /// The server has accepted the token.
    package mutating func tokenAccepted(attempt: Int) -> [Effect] {
        refusedTokenCount = 0
        guard isCurrent(attempt), case .authenticating(let since) = state else { return [] }
        return becomeReady(since: since)
    }

    /// The server has refused the token, or revoked one that it had accepted: a new one is fetched
    /// for the next connection.
    package mutating func tokenRefused(
        _ error: LarderError, attempt: Int, at now: Duration, jitter: Double
    ) -> [Effect] {
        guard isCurrent(attempt) else { return [] }
        forcesRefresh = true
        refusedToken = sentToken
        waitsForToken = true
        refusedTokenCount += 1
        if refusedTokenCount >= Self.refusedTokenLimit { backoff.resetToMax() }
        return [.discardToken] + end(.streamFailed(error), at: now, jitter: jitter)
    }

    /// The user has signed in, out or again; nil for a user who has signed out.
    ///
    /// A connection that is ready goes on with the new token, without a pause; an attempt that has
    /// fetched the old one begins again. An attempt that waits because of the token begins now, unless
    /// the token is the one that the server has refused.
    package mutating func tokenChanged(_ token: String?, at now: Duration) -> [Effect] {
        if token == nil || token != refusedToken {
            // The new token has not been refused.
            (forcesRefresh, refusedTokenCount, refusedToken) = (false, 0, nil)
        }
        switch state {
        case .interrupted: return []
        case .waiting: return waitsForToken && !forcesRefresh ? reconnect(at: now) : []
        case .fetchingToken, .connecting, .authenticating:
            return ending + begin()
        case .ready:
            sentToken = token
            return [.authenticate(token)]
        }
    }
}

// MARK: - The end of a connection

extension ConnectionMachine {
    /// The connection has ended, or could not be made.
    package mutating func closed(
        _ error: LarderError, attempt: Int, at now: Duration, jitter: Double
    ) -> [Effect] {
        guard isCurrent(attempt) else { return [] }
        return end(.streamFailed(error), at: now, jitter: jitter)
    }

    /// The server asks for a connection to another host, which the remote has noted.
    package mutating func redirected(attempt: Int, at now: Duration) -> [Effect] {
        guard isCurrent(attempt) else { return [] }
        return ending + [.report(.unknown, .connecting)] + beginAtOnce(now)
    }

    private mutating func end(
        _ reason: NetworkReason, at now: Duration, jitter: Double
    ) -> [Effect] {
        if case .ready(let since) = state, now - since > Self.successDuration { backoff.reset() }
        let effects = ending
        state = .waiting
        hasRetryTimer = true
        return effects + [
            .report(.offline, reason),
            .schedule(.retry, after: backoff.nextDelay(now: now, jitter: jitter - 0.5)),
        ]
    }

    /// The actions that leave the present state.
    private var ending: [Effect] {
        mutating get {
            let timers = cancelTimers()
            switch state {
            case .interrupted, .waiting, .fetchingToken: return timers
            case .connecting, .authenticating: return timers + [.close]
            case .ready: return timers + [.close, .lost]
            }
        }
    }

    private mutating func cancelTimers() -> [Effect] {
        defer { hasRetryTimer = false }
        return (hasRetryTimer ? [.cancel(.retry)] : []) + cancelEstablishmentTimer()
    }

    private mutating func cancelEstablishmentTimer() -> [Effect] {
        defer { hasEstablishmentTimer = false }
        return hasEstablishmentTimer ? [.cancel(.establishment)] : []
    }
}
