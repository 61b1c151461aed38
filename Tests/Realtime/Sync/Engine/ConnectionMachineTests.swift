import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRuntime
import Testing

@Suite("The machine of a connection")
struct ConnectionMachineTests {
    private typealias Effect = ConnectionMachine.Effect

    private let failure = LarderError(realtime: .unavailable, "away")
    private let refused = LarderError(realtime: .unauthenticated, "expired")
    private let start: [ConnectionMachine.Effect] = [
        .report(.unknown, .connecting), .schedule(.establishment, after: .seconds(30)),
        .fetchToken(attempt: 1, forcingRefresh: false),
    ]

    /// A machine whose first attempt has become ready.
    private func ready(token: String? = nil) -> ConnectionMachine {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetched(token, attempt: 1)
        _ = machine.greeted(session: "s1", attempt: 1, at: .zero)
        if token != nil { _ = machine.tokenAccepted(attempt: 1) }
        return machine
    }

    @Test("Without a token the server's greeting makes a connection ready")
    func withoutToken() {
        var machine = ConnectionMachine()
        #expect(machine.start(at: .zero) == start)
        #expect(machine.tokenFetched(nil, attempt: 1) == [.open(attempt: 1, lastSession: nil)])
        #expect(!machine.isReady)
        #expect(
            machine.greeted(session: "s1", attempt: 1, at: .zero) == [
                .cancel(.establishment), .restore, .report(.online, .answered),
            ])
        #expect(machine.isReady)
    }

    @Test("With a token the connection is ready once the server has accepted it")
    func withToken() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetched("t", attempt: 1)
        #expect(
            machine.greeted(session: "s1", attempt: 1, at: .zero) == [.authenticate("t")])
        #expect(!machine.isReady)
        let effects = machine.tokenAccepted(attempt: 1)
        #expect(effects.contains(.restore))
        #expect(machine.isReady)
    }

    @Test("A refused token is discarded, and the next attempt asks for a new one")
    func refusedToken() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetched("t", attempt: 1)
        _ = machine.greeted(session: "s1", attempt: 1, at: .zero)
        let effects = machine.tokenRefused(refused, attempt: 1, at: .zero, jitter: 0.5)
        #expect(
            effects == [
                .discardToken, .cancel(.establishment), .close,
                .report(.offline, .streamFailed(refused)),
                .schedule(.retry, after: .milliseconds(650)),
            ])
        #expect(
            machine.retryTimerFired() == [
                .schedule(.establishment, after: .seconds(30)),
                .fetchToken(attempt: 2, forcingRefresh: true),
            ])
        #expect(
            machine.tokenFetched("u", attempt: 2) == [.open(attempt: 2, lastSession: "s1")])
    }

    @Test("After three refused tokens in a row the delay is the longest")
    func threeRefusedTokens() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        for attempt in 1...3 {
            _ = machine.tokenFetched("t", attempt: attempt)
            _ = machine.greeted(session: "s", attempt: attempt, at: .zero)
            let effects = machine.tokenRefused(refused, attempt: attempt, at: .zero, jitter: 0.5)
            if attempt == 3 {
                #expect(effects.last == .schedule(.retry, after: .milliseconds(19_500)))
            }
            _ = machine.retryTimerFired()
        }
    }

    @Test("A new token ends the wait after refused ones at once, the refused one does not")
    func newToken() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        for attempt in 1...3 {
            _ = machine.tokenFetched("t", attempt: attempt)
            _ = machine.greeted(session: "s", attempt: attempt, at: .zero)
            _ = machine.tokenRefused(refused, attempt: attempt, at: .zero, jitter: 0.5)
            if attempt < 3 { _ = machine.retryTimerFired() }
        }
        #expect(machine.tokenChanged("t", at: .zero).isEmpty)
        #expect(
            machine.tokenChanged("u", at: .zero) == [
                .cancel(.retry), .schedule(.establishment, after: .seconds(30)),
                .fetchToken(attempt: 4, forcingRefresh: false),
            ])
        // The next refusal begins a new series.
        _ = machine.tokenFetched("u", attempt: 4)
        _ = machine.greeted(session: "s", attempt: 4, at: .zero)
        let effects = machine.tokenRefused(refused, attempt: 4, at: .zero, jitter: 0.5)
        #expect(effects.last == .schedule(.retry, after: .milliseconds(650)))
    }

    @Test("A new token ends the wait after one that could not be fetched, and no other wait")
    func tokenWhileWaiting() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetchFailed(failure, attempt: 1, at: .zero, jitter: 0.5)
        #expect(
            machine.tokenChanged("t", at: .zero).last
                == .fetchToken(attempt: 2, forcingRefresh: false))
        _ = machine.tokenFetched("t", attempt: 2)
        _ = machine.closed(failure, attempt: 2, at: .zero, jitter: 0.5)
        #expect(machine.tokenChanged("u", at: .zero).isEmpty)
    }

    @Test("A revoked token costs the connection, and a changed one does not")
    func tokensOfReadyConnections() {
        var machine = ready(token: "t")
        #expect(machine.tokenChanged("u", at: .zero) == [.authenticate("u")])
        #expect(machine.isReady)
        #expect(machine.tokenChanged(nil, at: .zero) == [.authenticate(nil)])
        let effects = machine.tokenRefused(refused, attempt: 1, at: .seconds(60), jitter: 0.5)
        #expect(effects.contains(.lost) && effects.contains(.discardToken))
        #expect(effects.last == .schedule(.retry, after: .zero), "it had lasted")
    }

    @Test("Delays grow by 1.3 from one second to thirty")
    func delays() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        var delays: [Duration] = []
        for attempt in 1...20 {
            let effects = machine.tokenFetchFailed(
                failure, attempt: attempt, at: .zero, jitter: 0.999)
            if case .schedule(.retry, let delay)? = effects.last { delays.append(delay) }
            _ = machine.retryTimerFired()
        }
        #expect(delays.count == 20)
        #expect(delays.allSatisfy { $0 <= .seconds(30) })
        #expect(delays[0] > .milliseconds(900) && delays[0] <= .seconds(1))
        #expect(delays[1] > delays[0] * 1.2 && delays[19] > .seconds(28))
    }

    @Test("A connection that lasted is made again at once, a short one is not")
    func lasting() {
        for (end, isImmediate) in [(Duration.seconds(31), true), (.milliseconds(10), false)] {
            var machine = ready()
            let effects = machine.closed(failure, attempt: 1, at: end, jitter: 0.5)
            #expect(effects.prefix(2) == [.close, .lost])
            #expect((effects.last == .schedule(.retry, after: .zero)) == isImmediate)
        }
    }

    @Test("Interruptions close the connection; it is made again when the last one ends")
    func interruptions() {
        var machine = ready()
        #expect(
            machine.interrupt(.user) == [.close, .lost, .report(.offline, .disabled(.user))])
        #expect(machine.interrupt(.user).isEmpty)
        #expect(
            machine.interrupt(.storeFailure)
                == [.report(.offline, .disabled([.user, .storeFailure]))])
        #expect(
            machine.resume(.user, at: .zero) == [.report(.offline, .disabled(.storeFailure))])
        let effects = machine.resume(.storeFailure, at: .zero)
        #expect(effects.last == .fetchToken(attempt: 2, forcingRefresh: false))
        #expect(machine.resume(.storeFailure, at: .zero).isEmpty)
    }

    @Test("Events of an earlier attempt change nothing")
    func lateEvents() {
        var machine = ready()
        _ = machine.interrupt(.user)
        _ = machine.resume(.user, at: .zero)
        #expect(machine.closed(failure, attempt: 1, at: .zero, jitter: 0).isEmpty)
        #expect(machine.greeted(session: "old", attempt: 1, at: .zero).isEmpty)
        #expect(machine.tokenFetched("t", attempt: 1).isEmpty)
        #expect(machine.tokenRefused(refused, attempt: 1, at: .zero, jitter: 0).isEmpty)
        #expect(!machine.isCurrent(1) && machine.isCurrent(2))
    }

    @Test("An attempt that does not become ready in thirty seconds is given up")
    func establishment() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetched(nil, attempt: 1)
        let effects = machine.establishmentTimerFired(at: .seconds(30), jitter: 0.5)
        #expect(effects.prefix(2) == [.close, .report(.offline, .timedOut)])
        #expect(machine.establishmentTimerFired(at: .seconds(30), jitter: 0.5).isEmpty)
    }

    @Test("A redirection connects again at once; a request to reconnect ends a wait")
    func reconnecting() {
        var machine = ready()
        let effects = machine.redirected(attempt: 1, at: .zero)
        #expect(effects.contains(.lost))
        #expect(effects.last == .fetchToken(attempt: 2, forcingRefresh: false))
        _ = machine.tokenFetchFailed(failure, attempt: 2, at: .zero, jitter: 0.5)
        #expect(
            machine.reconnect(at: .zero) == [
                .cancel(.retry), .schedule(.establishment, after: .seconds(30)),
                .fetchToken(attempt: 3, forcingRefresh: false),
            ])
        #expect(machine.reconnect(at: .zero).isEmpty)
    }

    @Test("A token that changes during an attempt begins the attempt again")
    func tokenDuringAttempt() {
        var machine = ConnectionMachine()
        _ = machine.start(at: .zero)
        _ = machine.tokenFetched("t", attempt: 1)
        #expect(
            machine.tokenChanged("u", at: .zero) == [
                .cancel(.establishment), .close, .schedule(.establishment, after: .seconds(30)),
                .fetchToken(attempt: 2, forcingRefresh: false),
            ])
    }
}
