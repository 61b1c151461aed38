import HashTreeCollections
import LarderModel
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("The network side: the watch stream")
struct RemoteStoreWatchStreamTests {
    private let away = LarderError(.unavailable, "away")

    @Test("A stream that fails is opened again: at once, then after longer and longer waits")
    func backsOff() {
        var test = RemoteStoreUnderTest.watching(2)
        test.watch(.closed(away))
        #expect(
            test.effects() == [
                "cancel health_check_timeout", "close watch", "cancel online_state_timeout",
                "unknown: failed unavailable",
                "set online_state_timeout 10.0 seconds", "unknown: connecting",
                "set listen_stream_connection_backoff 0.0 seconds",
            ])
        test.store.fire(.watchStreamBackoff)
        #expect(test.effects() == ["open watch 2"])
        test.watch(.closed(nil))
        #expect(
            test.effects() == [
                "close watch", "cancel online_state_timeout", "warn",
                "offline: failed unavailable",
                "set listen_stream_connection_backoff 1.0 seconds",
            ])
        test.store.now = .seconds(1)
        test.store.fire(.watchStreamBackoff)
        #expect(test.effects() == ["open watch 3"])
        test.watch(.closed(LarderError(.internal, "worse")))
        #expect(
            test.effects() == [
                "close watch", "offline: failed internal",
                "set listen_stream_connection_backoff 1.5 seconds",
            ])
        // An answer makes the next failure a first one.
        test.store.now = .seconds(100)
        test.store.fire(.watchStreamBackoff)
        test.watch(.opened)
        test.watch(.added, [2])
        _ = test.effects()
        test.watch(.closed(away))
        #expect(test.effects().last == "set listen_stream_connection_backoff 0.0 seconds")
    }

    @Test("What a stream left open does not count on the next one")
    func beginsAnew() throws {
        var test = RemoteStoreUnderTest.watching(2)
        let path = try DocumentPath("c2/a")
        let reading = DocumentReading(path: path, contents: .absent, version: .test(3))
        test.watch(.response(.document(reading, targetIDs: [2], removedTargetIDs: [])))
        test.listen(4)
        test.watch(.closed(away))
        test.store.fire(.watchStreamBackoff)
        test.watch(.opened)
        // One answer for each, also for the target whose request the old stream had not answered.
        test.watch(.added, [2, 4])
        test.watch(.current, [4], token: [9])
        test.watch(.none, at: 5)
        _ = test.effects()
        #expect(test.events[0].documents.isEmpty)
        #expect(test.store.targets[4]?.resumeToken == [9])
    }

    @Test("A backend with too much to do is left alone for long")
    func exhausted() {
        var test = RemoteStoreUnderTest.watching(2)
        test.watch(.closed(LarderError(.resourceExhausted, "full")))
        #expect(test.effects().last == "set listen_stream_connection_backoff 60.0 seconds")
    }

    @Test("A stream that is refused before it is healthy lets the token be forgotten")
    func refused() {
        let refused = LarderError(.unauthenticated, "who are you?")
        var test = RemoteStoreUnderTest.watching(2)
        test.watch(.closed(refused))
        #expect(test.effects().contains("invalidate token"))
        test.store.fire(.watchStreamBackoff)
        test.watch(.closed(refused))
        #expect(test.effects().contains("invalidate token"))
        test.store.fire(.watchStreamBackoff)
        test.watch(.opened)
        test.store.fire(.watchStreamHealth)
        _ = test.effects()
        test.watch(.closed(refused))
        let effects = test.effects()
        #expect(!effects.contains("invalidate token"))
        #expect(!effects.contains("cancel health_check_timeout"))
    }

    @Test("A backoff continues when the last target ends, and is not restarted for the next one")
    func waitsForNobody() {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        _ = test.effects()
        test.watch(.closed(away))
        _ = test.effects()
        test.store.unlisten(2)
        #expect(test.effects() == ["unknown: not asked"])
        test.listen(4)
        // An answer is awaited no longer than for a first one.
        #expect(test.effects() == ["set online_state_timeout 10.0 seconds", "unknown: connecting"])
        test.store.fire(.onlineState)
        #expect(test.effects() == ["offline: timed out"])
        test.store.unlisten(4)
        _ = test.effects()
        test.store.fire(.watchStreamBackoff)
        #expect(test.effects().isEmpty)
        test.listen(6)
        #expect(test.effects().last == "open watch 2")
    }

    @Test("A backend that does not answer in time counts as away")
    func timesOut() {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        test.watch(.opened)
        _ = test.effects()
        test.store.fire(.onlineState)
        #expect(test.effects() == ["warn", "offline: timed out"])
        test.watch(.added, [2])
        #expect(
            test.effects() == ["set online_state_timeout 10.0 seconds", "online: answered"])
    }

    @Test("A backend that falls silent with something to answer counts as away; its stream goes on")
    func fallsSilent() {
        var test = RemoteStoreUnderTest.watching(2)
        test.watch(.current, [2])
        #expect(test.effects() == ["cancel online_state_timeout"])
        test.store.now = .seconds(100)
        test.listen(4)
        #expect(test.effects() == ["add 4", "set online_state_timeout 10.0 seconds"])
        // Whatever comes is a sign of life, be it of other targets.
        test.store.now = .seconds(107)
        test.watch(.none)
        #expect(test.effects().isEmpty)
        test.store.now = .seconds(110)
        test.store.fire(.onlineState)
        #expect(test.effects() == ["set online_state_timeout 7.0 seconds"])
        test.store.now = .seconds(117)
        test.store.fire(.onlineState)
        #expect(test.effects() == ["warn", "offline: timed out silent"])
        // Nothing more is waited for until it speaks.
        test.listen(6)
        #expect(test.effects() == ["add 6"])
        test.watch(.current, [4])
        #expect(
            test.effects() == ["set online_state_timeout 10.0 seconds", "online: answered"])
        test.watch(.current, [6])
        #expect(test.effects() == ["cancel online_state_timeout"])
    }

    @Test("A stream that fails after it fell silent means no connection")
    func failsSilent() {
        var test = RemoteStoreUnderTest.watching(2)
        test.store.now = .seconds(10)
        test.store.fire(.onlineState)
        #expect(test.effects() == ["warn", "offline: timed out silent"])
        test.watch(.closed(away))
        #expect(
            test.effects() == [
                "cancel health_check_timeout", "close watch", "offline: failed unavailable",
                "set listen_stream_connection_backoff 0.0 seconds",
            ])
    }

    @Test("What an older stream says does not count, nor what a stream says before it is open")
    func nonsense() {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        _ = test.effects()
        test.watch(.added, [2])
        #expect(test.effects().first == "close watch")
        test.watch(.opened)
        #expect(test.effects().isEmpty)
        let old = test.watchGeneration
        test.store.fire(.watchStreamBackoff)
        _ = test.effects()
        test.store.handle(WatchEvent.opened, generation: old) { _ in [] }
        test.store.handle(WatchEvent.closed(nil), generation: old) { _ in [] }
        #expect(test.effects().isEmpty)
        test.watch(.opened)
        test.watch(.opened)
        #expect(test.effects() == ["set health_check_timeout 10.0 seconds", "add 2"])
        // An unknown target, and an impossible count.
        test.watch(.current, [77], token: [1])
        test.watch(.response(.existenceFilter(targetID: 77, count: -1, unchanged: nil)))
        _ = test.effects()
        test.watch(.none, at: 5)
        #expect(test.events.last?.targets[77] == nil)
    }
}
