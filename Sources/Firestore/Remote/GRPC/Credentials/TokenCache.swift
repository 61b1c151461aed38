import LarderModel
import Synchronization

/// The tokens of a connection's users: kept while they are valid, asked for once for all who wait.
///
///     none --token--> asking --given--> valid --soon to end--> asking, and usable to the end
///      ^                 |                |
///      +---- failed -----+                +--invalidate--> refused --token--> asking, forced
///
/// A question without an answer for a minute is asked again by who comes then; the answer to the
/// first is taken still.
final class TokenCache: Sendable {
    private typealias Waiter = CheckedContinuation<AccessToken?, any Error>

    private struct Question {
        let id: UInt64
        let asked: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private struct Entry {
        var token: AccessToken?
        /// Until when the token is valid; nil for ever.
        var end: ContinuousClock.Instant?
        var hasToken = false
        var isRefused = false
        /// What the provider was asked last, until it answers.
        var asking: Question?
        var waiters: [UInt64: Waiter] = [:]

        func isUsable(at now: ContinuousClock.Instant, for margin: Duration) -> Bool {
            hasToken && (end.map { now + margin < $0 } ?? true)
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

    /// How long before its end a token is replaced; a fifth of its lifetime at most.
    private static let margin = Duration.seconds(300)
    /// How long a question goes without an answer before it is asked again.
    private static let patience = Duration.seconds(60)
    /// Of how many users tokens are kept.
    private static let maxUsers = 64

    private let provider: (any AccessTokenProvider)?
    private let metrics: RemoteMetrics
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    init(
        _ provider: (any AccessTokenProvider)?, _ metrics: RemoteMetrics,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.provider = provider
        self.metrics = metrics
        self.now = now
    }

    /// A user's token; nil to ask without one.
    ///
    /// - Throws: `unauthenticated` when the provider failed; `CancellationError`.
    func token(for userID: String) async throws -> AccessToken? {
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

    /// Forgets all tokens: the host has refused one.
    ///
    /// One that is being asked for was never sent, and so is not the one.
    func invalidate() {
        state.withLock { state in
            for user in Array(state.entries.keys) {
                state.entries[user]?.isRefused = true
                state.entries[user]?.hasToken = false
                state.entries[user]?.token = nil
            }
        }
    }

    /// Gives up what is being asked for.
    func close() {
        let tasks = state.withLock { $0.entries.values.compactMap(\.asking?.task) }
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
            if entry.asking.map({ now - $0.asked >= Self.patience }) ?? true {
                entry.asking?.task.cancel()
                let (question, isForced) = (state.nextID(), entry.isRefused)
                entry.asking = Question(
                    id: question, asked: now,
                    task: Task.detached { [self] in await ask(question, for: userID, isForced) })
            }
            return nil
        }
        if let known { waiter.resume(with: known) }
    }

    private static func margin(of token: AccessToken?) -> Duration {
        min(margin, (token?.lifetime ?? margin * 5) / 5)
    }

    private func ask(_ question: UInt64, for userID: String, _ isForced: Bool) async {
        let asked = now()
        let answer: Result<AccessToken?, any Error>
        do {
            answer = .success(
                try await provider?.accessToken(
                    for: userID.isEmpty ? nil : userID, forcingRefresh: isForced))
        } catch {
            answer = .failure(error)
        }
        let now = now()
        metrics.refreshedToken(isSuccess: (try? answer.get()) != nil)
        let (waiters, result) = state.withLock { state in
            finish(&state, question, userID, answer, asked: asked, now: now)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func finish(
        _ state: inout State, _ question: UInt64, _ userID: String,
        _ answer: Result<AccessToken?, any Error>, asked: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> ([Waiter], Result<AccessToken?, any Error>) {
        var entry = state.entries[userID] ?? Entry()
        let isLast = entry.asking?.id == question
        // Where it was asked again, that answer counts.
        if case .failure = answer, !isLast { return ([], answer) }
        if isLast { entry.asking = nil }
        let waiters = Array(entry.waiters.values)
        entry.waiters = [:]
        let result: Result<AccessToken?, any Error>
        switch answer {
        case .success(let token):
            entry.token = token
            entry.end = token?.lifetime.map { asked + $0 }
            (entry.hasToken, entry.isRefused) = (true, false)
            result = .success(token)
        case .failure where entry.isUsable(at: now, for: .zero):
            result = .success(entry.token)
        case .failure(let error):
            result = .failure(
                LarderError(
                    .unauthenticated, "the provider of access tokens failed", cause: error))
        }
        if state.entries.count > Self.maxUsers {
            state.entries = state.entries.filter { $0.value.asking != nil }
        }
        state.entries[userID] = entry
        return (waiters, result)
    }
}
