import LarderCore
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCredentials

@Suite("Token cache", .timeLimit(.minutes(10)))
struct TokenCacheTests {
    /// A provider that waits for a test to answer, on a clock that only the test turns.
    private final class Provider: AccessTokenProvider {
        struct Question: Sendable {
            let userID: String?
            let isForced: Bool
            let answer: CheckedContinuation<AccessToken?, any Error>
        }

        let questions = Awaited<[Question]>([])

        func accessToken(for userID: String?, forcingRefresh isForced: Bool) async throws
            -> AccessToken?
        {
            try await withCheckedThrowingContinuation { continuation in
                questions.change {
                    $0.append(
                        Question(userID: userID, isForced: isForced, answer: continuation))
                }
            }
        }

        /// Answers a question once it was asked.
        func answer(_ number: Int, _ token: AccessToken?) async {
            await questions.wait { $0.count > number }
            questions.value[number].answer.resume(returning: token)
        }

        func fail(_ number: Int) async {
            await questions.wait { $0.count > number }
            questions.value[number].answer.resume(
                throwing: LarderError(.unavailable, "down", domain: LarderError.sharedDomain))
        }
    }

    private final class Clock: Sendable {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        var now: ContinuousClock.Instant { start + passed.withLock { $0 } }

        func turn(_ duration: Duration) { passed.withLock { $0 += duration } }
    }

    private let provider = Provider()
    private let clock = Clock()
    private let cache: TokenCache

    init() {
        cache = TokenCache(
            provider, errorDomain: LarderError.sharedDomain, now: { [clock] in clock.now },
            onRefresh: { _ in })
    }

    private func known(_ user: String = "") async throws -> String? {
        try await cache.token(for: user)?.secret
    }

    @Test("concurrent callers share one request")
    func singleFlight() async throws {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { try await known() } }
            await provider.answer(0, AccessToken("a", lifetime: .seconds(3600)))
            for try await token in group { #expect(token == "a") }
        }
        #expect(try await known() == "a")
        #expect(provider.questions.value.count == 1)
        #expect(provider.questions.value[0].userID == nil && !provider.questions.value[0].isForced)
    }

    @Test("each user has a separate token")
    func users() async throws {
        async let first = known("ada")
        await provider.answer(0, AccessToken("of ada"))
        async let second = known("bob")
        await provider.answer(1, AccessToken("of bob"))
        #expect(try await [first, second] == ["of ada", "of bob"])
        #expect(provider.questions.value.map(\.userID) == ["ada", "bob"])
        #expect(try await known("ada") == "of ada")
    }

    @Test("a token is replaced before it expires")
    func refresh() async throws {
        async let first = known()
        await provider.answer(0, AccessToken("a", lifetime: .seconds(3600)))
        #expect(try await first == "a")
        clock.turn(.seconds(3299))
        #expect(try await known() == "a")
        clock.turn(.seconds(2))
        async let second = known()
        await provider.answer(1, AccessToken("b", lifetime: .seconds(3600)))
        #expect(try await second == "b")
        #expect(!provider.questions.value[1].isForced)
    }

    @Test("a token stays in use until it expires while its provider fails")
    func failing() async throws {
        async let first = known()
        await provider.answer(0, AccessToken("a", lifetime: .seconds(3600)))
        #expect(try await first == "a")
        clock.turn(.seconds(3400))
        async let second = known()
        await provider.fail(1)
        #expect(try await second == "a")
        clock.turn(.seconds(300))
        let third = Task { try await known() }
        await provider.fail(2)
        let error = await #expect(throws: LarderError.self) { try await third.value }
        #expect(error?.kind == .unauthenticated)
        #expect((error?.cause as? LarderError)?.kind == .unavailable)
    }

    @Test("a refused token is not used again, and its replacement is forced")
    func invalidation() async throws {
        async let first = known()
        await provider.answer(0, AccessToken("a"))
        #expect(try await first == "a")
        cache.invalidate()
        cache.invalidate()
        async let second = known()
        await provider.answer(1, AccessToken("b"))
        #expect(try await second == "b")
        #expect(provider.questions.value[1].isForced)
        #expect(try await known() == "b")
    }

    @Test("a request without a response is repeated after a minute", arguments: [0, 1])
    func silence(whoAnswers: Int) async throws {
        let first = Task { try await known() }
        await provider.questions.wait { $0.count == 1 }
        clock.turn(.seconds(59))
        let second = Task { try await known() }
        clock.turn(.seconds(1))
        let third = Task { try await known() }
        await provider.questions.wait { $0.count == 2 }
        await provider.answer(whoAnswers, AccessToken("late", lifetime: .seconds(3600)))
        for waiting in [first, second, third] { #expect(try await waiting.value == "late") }
        // The other request's failure is ignored.
        await provider.fail(1 - whoAnswers)
        #expect(try await known() == "late")
        #expect(provider.questions.value.count == 2)
    }

    @Test("a cancelled caller does not affect the others")
    func cancelling() async throws {
        let one = Task { try await known() }
        await provider.questions.wait { $0.count == 1 }
        let other = Task { try await known() }
        one.cancel()
        await #expect(throws: CancellationError.self) { try await one.value }
        await provider.answer(0, AccessToken("a"))
        #expect(try await other.value == "a")
        #expect(provider.questions.value.count == 1)
    }

    @Test("a provider may return no token")
    func none() async throws {
        async let first = known()
        await provider.answer(0, nil)
        #expect(try await first == nil)
        #expect(try await known() == nil)
        #expect(provider.questions.value.count == 1)
    }
}
