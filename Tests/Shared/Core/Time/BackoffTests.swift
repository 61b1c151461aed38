import LarderCore
import Testing

@Suite("Backoff")
struct BackoffTests {
    private let firestore = Backoff(initial: .seconds(1), factor: 1.5, longest: .seconds(60))

    /// The delays of attempts that fail at once.
    private func delays(_ backoff: inout Backoff, _ count: Int, jitter: Double) -> [Duration] {
        var now = Duration.seconds(1000)
        return (0..<count).map { _ in
            let delay = backoff.nextDelay(now: now, jitter: jitter)
            now += delay
            return delay
        }
    }

    @Test("The first attempt does not wait, and each other one half as long again, to a minute")
    func grows() {
        var backoff = firestore
        let delays = delays(&backoff, 14, jitter: 0)
        #expect(delays.prefix(4) == [.zero, .seconds(1), .seconds(1.5), .seconds(2.25)])
        #expect(delays.suffix(2) == [.seconds(60), .seconds(60)])
        #expect(zip(delays, delays.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test(
        "Jitter makes a wait up to half as long again or half as short, and not what follows",
        arguments: [(0.5, 1.5), (-0.5, 0.5), (7, 1.5), (-7, 0.5), (0.1, 1.1)])
    func jitters(_ jitter: Double, _ factor: Double) {
        var (plain, jittered) = (firestore, firestore)
        let pairs = zip(delays(&plain, 14, jitter: 0), delays(&jittered, 14, jitter: jitter))
        for (expected, delay) in pairs {
            let difference = delay - expected * factor
            #expect(abs(difference / .nanoseconds(1)) < 10)
        }
    }

    @Test("The time since the last attempt counts as waited")
    func subtracts() {
        var backoff = firestore
        #expect(backoff.nextDelay(now: .seconds(10), jitter: 0) == .zero)
        #expect(backoff.nextDelay(now: .seconds(10.25), jitter: 0) == .seconds(0.75))
        // The attempt was made at 11 s and lasted longer than there is to wait.
        #expect(backoff.nextDelay(now: .seconds(13), jitter: 0) == .zero)
        // That one was made at 13 s; the clock must not run backwards, but nothing breaks.
        #expect(backoff.nextDelay(now: .seconds(12), jitter: 0) == .seconds(2.25))
    }

    @Test("The parameters give the first delay, its growth and its bound")
    func parameters() {
        var backoff = Backoff(initial: .seconds(1), factor: 1.3, longest: .seconds(30))
        let delays = delays(&backoff, 16, jitter: 0)
        #expect(delays.prefix(3) == [.zero, .seconds(1), .seconds(1) * 1.3])
        #expect(delays.last == .seconds(30))
    }

    @Test("After a reset the next attempt does not wait")
    func resets() {
        var backoff = firestore
        _ = delays(&backoff, 5, jitter: 0)
        backoff.reset()
        #expect(delays(&backoff, 2, jitter: 0) == [.zero, .seconds(1)])
    }

    @Test("After a reset to the longest wait the next attempt waits that long")
    func resetsToMax() {
        var backoff = firestore
        backoff.resetToMax()
        #expect(delays(&backoff, 2, jitter: 0) == [.seconds(60), .seconds(60)])
    }
}
