import LarderCore
import Synchronization

/// Caches the tokens of a connection's users, and requests each once for all waiting callers.
///
///     none --token--> requested --token--> valid --expires soon--> requested, usable until expiry
///      ^                  |                  |
///      +----- failed -----+                  +--invalidate--> refused --token--> requested, forced
///
/// The first caller after a minute without a response repeats the request; a late response to the
/// first is still accepted.
package final class TokenCache: Sendable {
    private typealias Waiter = CheckedContinuation<AccessToken?, any Error>

    private struct Request {
        let id: UInt64
        let start: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private struct Entry {
        var token: AccessToken?
        /// The token's expiry; nil without limit.
        var expiry: ContinuousClock.Instant?
        var hasToken = false
        var isRefused = false
        /// The latest request to the provider, until its response.
        var request: Request?
        var waiters: [UInt64: Waiter] = [:]

        func isUsable(at now: ContinuousClock.Instant, for margin: Duration) -> Bool {
            hasToken && (expiry.map { now + margin < $0 } ?? true)
        }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        private var lastID: UInt64 = 0

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    /// How long before its expiry a token is replaced; a fifth of its lifetime at most.
    private static let margin = Duration.seconds(300)
    /// How long a request may take before it is repeated.
    private static let requestTimeout = Duration.seconds(60)
    /// The number of users whose tokens are cached.
    private static let maxUsers = 64

    private let provider: (any AccessTokenProvider)?
    private let errorDomain: String
    private let onRefresh: @Sendable (_ isSuccess: Bool) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// An empty cache.
    ///
    /// - Parameters:
    ///   - provider: the source of tokens; nil to connect without any.
    ///   - errorDomain: the domain of the errors that are thrown.
    ///   - onRefresh: called after each response of the provider.
    package init(
        _ provider: (any AccessTokenProvider)?, errorDomain: String,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        onRefresh: @escaping @Sendable (_ isSuccess: Bool) -> Void
    ) {
        self.provider = provider
        self.errorDomain = errorDomain
        self.onRefresh = onRefresh
        self.now = now
    }

    /// A user's token; nil to connect without one.
    ///
    /// - Throws: `unauthenticated` if the provider fails; `CancellationError`.
    package func token(for userID: String) async throws -> AccessToken? {
        guard provider != nil else { return nil }
        let id = state.withLock { $0.nextID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                wait(for: userID, id, continuation)
            }
        } onCancel: {
            let waiter = state.withLock { $0.entries[userID]?.waiters.removeValue(forKey: id) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Discards all tokens after the host has refused one.
    ///
    /// A token still requested was never sent, and is not affected.
    package func invalidate() {
        state.withLock { state in
            for user in Array(state.entries.keys) {
                state.entries[user]?.isRefused = true
                state.entries[user]?.hasToken = false
                state.entries[user]?.token = nil
            }
        }
    }

    /// Cancels all requests.
    package func close() {
        let tasks = state.withLock { $0.entries.values.compactMap(\.request?.task) }
        for task in tasks { task.cancel() }
    }

    private func wait(for userID: String, _ id: UInt64, _ waiter: Waiter) {
        let now = now()
        let known: Result<AccessToken?, any Error>? = state.withLock { state in
            if Task.isCancelled { return .failure(CancellationError()) }
            var entry = state.entries[userID] ?? Entry()
            defer { state.entries[userID] = entry }
            if entry.isUsable(at: now, for: Self.margin(of: entry.token)) {
                return .success(entry.token)
            }
            entry.waiters[id] = waiter
            if entry.request.map({ now - $0.start >= Self.requestTimeout }) ?? true {
                entry.request?.task.cancel()
                let (request, isForced) = (state.nextID(), entry.isRefused)
                entry.request = Request(
                    id: request, start: now,
                    task: Task.detached { [self] in await refresh(request, for: userID, isForced) })
            }
            return nil
        }
        if let known { waiter.resume(with: known) }
    }

    private static func margin(of token: AccessToken?) -> Duration {
        min(margin, (token?.lifetime ?? margin * 5) / 5)
    }

    private func refresh(_ request: UInt64, for userID: String, _ isForced: Bool) async {
        let start = now()
        let response: Result<AccessToken?, any Error>
        do {
            response = .success(
                try await provider?.accessToken(
                    for: userID.isEmpty ? nil : userID, forcingRefresh: isForced))
        } catch {
            response = .failure(error)
        }
        let now = now()
        onRefresh((try? response.get()) != nil)
        let (waiters, result) = state.withLock { state in
            finish(&state, request, userID, response, start: start, now: now)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func finish(
        _ state: inout State, _ request: UInt64, _ userID: String,
        _ response: Result<AccessToken?, any Error>, start: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> ([Waiter], Result<AccessToken?, any Error>) {
        var entry = state.entries[userID] ?? Entry()
        let isLast = entry.request?.id == request
        // A repeated request decides about failure.
        if case .failure = response, !isLast { return ([], response) }
        if isLast { entry.request = nil }
        let waiters = Array(entry.waiters.values)
        entry.waiters = [:]
        let result: Result<AccessToken?, any Error>
        switch response {
        case .success(let token):
            entry.token = token
            entry.expiry = token?.lifetime.map { start + $0 }
            (entry.hasToken, entry.isRefused) = (true, false)
            result = .success(token)
        case .failure where entry.isUsable(at: now, for: .zero):
            result = .success(entry.token)
        case .failure(let error):
            result = .failure(
                LarderError(
                    .unauthenticated, "the access token provider failed", cause: error,
                    domain: errorDomain))
        }
        if state.entries.count > Self.maxUsers {
            state.entries = state.entries.filter { $0.value.request != nil }
        }
        state.entries[userID] = entry
        return (waiters, result)
    }
}
