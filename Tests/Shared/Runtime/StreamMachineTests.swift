import LarderCore
import LarderRuntime
import Testing

@Suite("The machine of a stream")
struct StreamMachineTests {
    private let failure = LarderError(.unavailable, "away", domain: LarderError.sharedDomain)

    private func machine() -> StreamMachine {
        StreamMachine(
            backoff: Backoff(initial: .seconds(1), factor: 1.5, longest: .seconds(60)))
    }

    /// An open stream.
    private func open() -> StreamMachine {
        var stream = machine()
        _ = stream.start(at: .zero) { 0.5 }
        _ = stream.opened()
        return stream
    }

    @Test("A stream opens once, becomes healthy, and closes when it is stopped")
    func opens() {
        var stream = machine()
        let (isAttempt, effects) = stream.start(at: .zero) { 0.5 }
        #expect(isAttempt && effects == [.open(generation: 1)])
        #expect(!stream.start(at: .zero) { 0.5 }.isAttempt)
        #expect(stream.isCurrent(1) && !stream.isOpen)
        #expect(stream.opened() == [.schedule(.health, after: .seconds(10))])
        #expect(stream.isOpen)
        #expect(stream.answered().isFirst && !stream.answered().isFirst)
        stream.healthTimerFired()
        #expect(stream.stop() == [.close])
        #expect(!stream.isCurrent(1) && !stream.isHeldBack)
        #expect(stream.start(at: .zero) { 0.5 }.effects == [.open(generation: 2)])
    }

    @Test("After a failure the next stream waits for the backoff, from the second failure on")
    func waits() {
        var stream = open()
        #expect(stream.fail(failure) == [.cancel(.health), .close])
        #expect(stream.isHeldBack)
        let (isAttempt, effects) = stream.start(at: .zero) { 0.5 }
        #expect(isAttempt && effects == [.schedule(.backoff, after: .zero)])
        #expect(stream.backoffTimerFired(isNeeded: true) == [.open(generation: 2)])
        #expect(stream.fail(failure) == [.close])
        let next = stream.start(at: .zero) { 0.5 }
        #expect(!next.isAttempt && next.effects == [.schedule(.backoff, after: .seconds(1))])
        #expect(stream.backoffTimerFired(isNeeded: false).isEmpty)
        #expect(!stream.isHeldBack)
    }

    @Test("The end of an outage ends the backoff, unless the backend answered with an error")
    func outageEnds() {
        for (error, ends) in [
            (failure, true),
            (LarderError(.internal, "broken", domain: LarderError.sharedDomain), false),
        ] {
            var stream = open()
            _ = stream.fail(error)
            _ = stream.start(at: .zero) { 0.5 }
            let (isAttempt, effects) = stream.outageEnded(isNeeded: true)
            #expect(isAttempt == ends)
            #expect(effects == (ends ? [.cancel(.backoff), .open(generation: 2)] : []))
            #expect(stream.isHeldBack == !ends)
        }
    }

    @Test("An error that follows an answer each time does not start the backoff over")
    func fastFailures() {
        let broken = LarderError(.internal, "broken", domain: LarderError.sharedDomain)
        /// The delays before streams that all answer first.
        func delays(
            _ error: LarderError, isHealthy: Bool = false, isProgress: Bool = false
        ) -> [Duration] {
            var stream = machine()
            _ = stream.start(at: .zero) { 0.5 }
            return (0..<4).map { _ in
                _ = stream.opened()
                for _ in 0..<2 {
                    stream.succeeded(isProgress: isProgress)
                    _ = stream.answered()
                }
                if isHealthy { stream.healthTimerFired() }
                _ = stream.fail(error)
                let effects = stream.start(at: .zero) { 0.5 }.effects
                _ = stream.backoffTimerFired(isNeeded: true)
                guard case .schedule(.backoff, let delay) = effects.first else { return .zero }
                return delay
            }
        }
        #expect(delays(broken) == [.zero, .seconds(1), .seconds(1.5), .seconds(2.25)])
        #expect(delays(broken, isHealthy: true) == [.zero, .zero, .zero, .zero])
        #expect(delays(broken, isProgress: true) == [.zero, .zero, .zero, .zero])
        #expect(delays(failure) == [.zero, .zero, .zero, .zero])
    }

    @Test("An unused stream has an idle timer, which use cancels")
    func idles() {
        var stream = open()
        #expect(stream.markIdle() == [.schedule(.idle, after: .seconds(60))])
        #expect(stream.markIdle().isEmpty)
        #expect(stream.markBusy() == [.cancel(.idle)])
        #expect(stream.markBusy().isEmpty)
        _ = stream.markIdle()
        #expect(stream.fail(failure) == [.cancel(.idle), .cancel(.health), .close])
    }

    @Test("A refused token is discarded, unless the stream was healthy")
    func refusedToken() {
        let refusal = LarderError(.unauthenticated, "expired", domain: LarderError.sharedDomain)
        var stream = open()
        #expect(stream.fail(refusal) == [.cancel(.health), .close, .invalidateToken])
        stream = open()
        stream.healthTimerFired()
        #expect(stream.fail(refusal) == [.close])
    }

    @Test("Events that are impossible in a state are reported and change nothing")
    func impossible() {
        var stream = machine()
        let events = [stream.opened(), stream.answered().effects, stream.fail(failure)]
        for effects in events {
            #expect(effects.count == 1)
            guard case .impossible? = effects.first else {
                Issue.record("\(effects)")
                continue
            }
        }
        #expect(stream.start(at: .zero) { 0.5 }.effects == [.open(generation: 1)])
    }

    @Test("A timer that is not running is ignored when it fires")
    func timers() {
        var stream = machine()
        #expect(!stream.idleTimerFired() && stream.backoffTimerFired(isNeeded: true).isEmpty)
        stream.healthTimerFired()
        #expect(!stream.isOpen && !stream.isCurrent(0))
    }
}
