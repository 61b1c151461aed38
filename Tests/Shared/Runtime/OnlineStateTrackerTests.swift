import LarderCore
import LarderRuntime
import Testing

@Suite("The online state")
struct OnlineStateTrackerTests {
    private let failure = LarderError(.unavailable, "away", domain: LarderError.sharedDomain)

    /// The effects without the words of a warning.
    private func kinds(_ effects: [OnlineStateTracker.Effect]) -> [OnlineStateTracker.Effect] {
        effects.map { if case .warn = $0 { .warn("") } else { $0 } }
    }

    @Test("A stream that starts sets the timer, once; an answer cancels it")
    func answers() {
        var tracker = OnlineStateTracker()
        #expect(tracker.state == .unknown)
        #expect(tracker.reason == .notAsked)
        #expect(tracker.streamStarted() == [.setTimer(.seconds(10))])
        #expect(tracker.reason == .connecting)
        #expect(tracker.streamStarted().isEmpty)
        #expect(tracker.set(.online, .answered) == [.cancelTimer, .changed(.online)])
        #expect(tracker.set(.online, .answered).isEmpty)
        #expect(tracker.reason == .answered)
        #expect(tracker.timerFired(at: .zero).isEmpty)
        #expect(tracker.state == .online)
    }

    @Test("A first stream that fails means offline, and the next ones change nothing")
    func failsAtOnce() {
        var tracker = OnlineStateTracker()
        _ = tracker.streamStarted()
        #expect(
            kinds(tracker.streamFailed(failure)) == [.cancelTimer, .warn(""), .changed(.offline)])
        #expect(tracker.reason == .streamFailed(failure))
        #expect(tracker.streamStarted().isEmpty)
        let other = LarderError(.internal, "worse", domain: LarderError.sharedDomain)
        #expect(tracker.streamFailed(other).isEmpty)
        #expect(tracker.reason == .streamFailed(other))
        #expect(tracker.set(.online, .answered) == [.changed(.online)])
    }

    @Test("A stream that fails after it answered leaves it open, until the next one fails too")
    func failsLater() {
        var tracker = OnlineStateTracker()
        _ = tracker.streamStarted()
        _ = tracker.set(.online, .answered)
        #expect(tracker.streamFailed(failure) == [.changed(.unknown)])
        #expect(tracker.reason == .streamFailed(failure))
        #expect(tracker.streamStarted() == [.setTimer(.seconds(10))])
        #expect(
            kinds(tracker.streamFailed(failure)) == [.cancelTimer, .warn(""), .changed(.offline)])
    }

    @Test("No answer in time means offline; an answer after that means online")
    func timesOut() {
        var tracker = OnlineStateTracker()
        _ = tracker.streamStarted()
        #expect(kinds(tracker.timerFired(at: .zero)) == [.warn(""), .changed(.offline)])
        #expect(tracker.reason == .timedOut)
        #expect(tracker.timerFired(at: .zero).isEmpty)
        #expect(tracker.streamFailed(failure).isEmpty)
        #expect(tracker.set(.online, .answered) == [.changed(.online)])
    }

    @Test("A responsive backend has the full time for each request and for the next response")
    func asks() {
        var tracker = OnlineStateTracker()
        #expect(tracker.asked().isEmpty, "the first stream has the timer")
        #expect(tracker.streamStarted() == [.setTimer(.seconds(10))])
        #expect(
            tracker.answered(at: .seconds(4), awaitsMore: true) == [.changed(.online)])
        #expect(tracker.timerFired(at: .seconds(10)) == [.setTimer(.seconds(4))])
        #expect(tracker.answered(at: .seconds(11)) == [.cancelTimer])
        #expect(tracker.asked() == [.setTimer(.seconds(10))])
        #expect(tracker.asked().isEmpty)
        #expect(tracker.everythingAnswered() == [.cancelTimer])
        _ = tracker.asked()
        #expect(kinds(tracker.timerFired(at: .seconds(90))) == [.warn(""), .changed(.offline)])
        #expect(tracker.isSilent && tracker.reason == .timedOut)
        #expect(tracker.asked().isEmpty)
        #expect(
            tracker.answered(at: .seconds(91), awaitsMore: true)
                == [.changed(.online), .setTimer(.seconds(10))])
        #expect(!tracker.isSilent)
        #expect(tracker.streamFailed(failure) == [.cancelTimer, .changed(.unknown)])
    }

    @Test("A backend that answered is given a second, however little patience there is")
    func isFair() {
        var tracker = OnlineStateTracker(timeout: .zero)
        _ = tracker.streamStarted()
        _ = tracker.timerFired(at: .zero)
        _ = tracker.answered(at: .zero)
        #expect(tracker.asked() == [.setTimer(.seconds(1))])
        #expect(kinds(tracker.timerFired(at: .seconds(1))) == [.warn(""), .changed(.offline)])
    }

    @Test("The warning says why, and comes once for each time that the backend went away")
    func warns() {
        var tracker = OnlineStateTracker()
        _ = tracker.streamStarted()
        let warnings = tracker.streamFailed(failure).compactMap { effect in
            if case .warn(let text) = effect { text } else { nil }
        }
        #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("unavailable: away") })
        #expect(tracker.set(.unknown, .notAsked) == [.changed(.unknown)])
        _ = tracker.streamStarted()
        #expect(kinds(tracker.streamFailed(failure)) == [.cancelTimer, .changed(.offline)])
        _ = tracker.set(.online, .answered)
        _ = tracker.streamFailed(failure)
        _ = tracker.streamStarted()
        #expect(kinds(tracker.timerFired(at: .zero)) == [.warn(""), .changed(.offline)])
    }

    @Test("A state set for another reason resets earlier failures")
    func sets() {
        var tracker = OnlineStateTracker()
        _ = tracker.streamStarted()
        #expect(
            tracker.set(.offline, .disabled(.user)) == [.cancelTimer, .changed(.offline)])
        #expect(tracker.reason == .disabled(.user))
        #expect(tracker.set(.unknown, .notAsked) == [.changed(.unknown)])
        _ = tracker.streamStarted()
        _ = tracker.streamFailed(failure)
        _ = tracker.set(.offline, .disabled(.storeFailure))
        #expect(tracker.reason == .disabled(.storeFailure))
        #expect(tracker.streamStarted() == [.changed(.unknown), .setTimer(.seconds(10))])
    }

    @Test("A backend that was away is still so until it is tried again, where that is wanted")
    func remembers() {
        for remembers in [false, true] {
            var tracker = OnlineStateTracker(remembersOutages: remembers)
            _ = tracker.streamStarted()
            _ = tracker.streamFailed(failure)
            _ = tracker.becameIdle()
            #expect(tracker.state == .unknown)
            _ = tracker.streamStarted(isAttempt: false)
            #expect(tracker.state == (remembers ? .offline : .unknown))
            #expect(tracker.reason == (remembers ? .streamFailed(failure) : .connecting))
            _ = tracker.becameIdle()
            _ = tracker.streamStarted(isAttempt: true)
            #expect(tracker.state == .unknown)
            _ = tracker.timerFired(at: .zero)
            _ = tracker.becameIdle()
            _ = tracker.streamStarted(isAttempt: false)
            #expect(tracker.state == (remembers ? .offline : .unknown))
            // What the application says counts more than what happened before.
            _ = tracker.set(.unknown, .notAsked)
            _ = tracker.streamStarted(isAttempt: false)
            #expect(tracker.state == .unknown)
        }
    }

    @Test("Who waits for nothing takes every beginning for offline, without a warning")
    func impatient() {
        var tracker = OnlineStateTracker(timeout: .seconds(-1))
        #expect(tracker.streamStarted() == [.setTimer(.zero)])
        #expect(tracker.timerFired(at: .zero) == [.changed(.offline)])
        #expect(tracker.set(.online, .answered) == [.changed(.online)])
    }
}
