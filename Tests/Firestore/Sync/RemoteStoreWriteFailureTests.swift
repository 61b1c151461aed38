import LarderModel
import LarderRemote
import LarderSync
import Testing

@Suite("The network side: writes that fail")
struct RemoteStoreWriteFailureTests {
    private let away = LarderError(.unavailable, "away")
    private let refused = LarderError(.permissionDenied, "no")

    @Test("A refused write is dropped, and the rest goes on at once")
    func refuses() throws {
        var test = try RemoteStoreUnderTest.writing(1, 2)
        test.write(.closed(refused))
        #expect(
            test.effects() == [
                "cancel write_health_check_timeout", "close write",
                // A refusal is an answer; the next write waits for one.
                "cancel write_online_state_timeout", "reject 1: permissionDenied",
                "set write_online_state_timeout 10.0 seconds", "open write 2", "wants 9 after 2",
            ])
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        #expect(test.effects().last == "write [\"c/2-0\"] token [1]")
        test.write(.closed(refused))
        #expect(test.effects().suffix(2) == ["reject 2: permissionDenied", "wants 10 after 2"])
    }

    @Test(
        "Only some errors refuse a write for good",
        arguments: [
            (1, false), (2, false), (3, true), (4, false), (5, true), (6, true), (7, true),
            (8, false), (9, true), (10, false), (11, true), (12, true), (13, false), (14, false),
            (15, true), (16, false), (99, false),
        ])
    func codes(_ code: Int, isPermanent: Bool) throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.write(.closed(LarderError(.init(rawValue: code), "")))
        let effects = test.effects()
        #expect(effects.contains { $0.hasPrefix("reject 1") } == isPermanent)
        #expect(effects.contains { $0.hasPrefix("attempt 1") } == !isPermanent)
        #expect(test.store.pipelineCount == (isPermanent ? 0 : 1))
    }

    @Test("A failed attempt is reported, and all writes are sent again after a backoff")
    func retries() throws {
        var test = try RemoteStoreUnderTest.writing(1, 2)
        let broken = LarderError(.internal, "broken")
        test.write(.closed(broken))
        #expect(
            test.effects() == [
                "cancel write_health_check_timeout", "close write",
                "cancel write_online_state_timeout",
                "unknown: failed internal", "attempt 1: internal",
                "set write_online_state_timeout 10.0 seconds", "unknown: connecting",
                "set write_stream_connection_backoff 0.0 seconds",
            ])
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        // A handshake alone does not make the next failure a first one.
        test.write(.handshake(streamToken: [7]))
        #expect(
            test.effects().suffix(2) == [
                "write [\"c/1-0\"] token [7]", "write [\"c/2-0\"] token [7]",
            ])
        test.write(.closed(nil))
        #expect(
            test.effects().suffix(2) == [
                "attempt 1: unavailable", "set write_stream_connection_backoff 1.0 seconds",
            ])
        test.store.now = .seconds(1)
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        test.write(.handshake(streamToken: [7]))
        test.commit(1)
        _ = test.effects()
        test.write(.closed(broken))
        #expect(
            test.effects().suffix(4) == [
                "attempt 2: internal", "set write_online_state_timeout 10.0 seconds",
                "unknown: connecting", "set write_stream_connection_backoff 0.0 seconds",
            ])
    }

    @Test("An error before anything was sent refuses no write, and counts as an attempt")
    func failsEarly() throws {
        var test = RemoteStoreUnderTest()
        test.store.add([try .test(1)])
        test.write(.opened)
        _ = test.effects()
        test.write(.closed(refused))
        #expect(
            test.effects() == [
                "cancel write_health_check_timeout", "close write",
                "cancel write_online_state_timeout", "warn",
                "offline: failed permissionDenied for listeners: unknown",
                "attempt 1 unsent: permissionDenied",
                "set write_stream_connection_backoff 0.0 seconds",
            ])
        #expect(test.store.pipelineCount == 1)
    }

    @Test("A stream that fails without writes is not opened until there are some")
    func failsIdle() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.commit(1)
        test.store.add([])
        _ = test.effects()
        test.write(.closed(away))
        #expect(
            test.effects() == [
                "cancel write_stream_idle", "cancel write_health_check_timeout", "close write",
                "unknown: not asked",
            ])
        test.store.add([try .test(2)])
        #expect(test.effects().last == "set write_stream_connection_backoff 0.0 seconds")
        test.store.fire(.writeStreamBackoff)
        #expect(test.effects() == ["open write 2"])
    }

    @Test("Codes that are of the stream, not of a write")
    func streamErrors() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.write(.closed(LarderError(.resourceExhausted, "full")))
        #expect(test.effects().last == "set write_stream_connection_backoff 60.0 seconds")
        test.store.fire(.writeStreamBackoff)
        test.write(.closed(LarderError(.unauthenticated, "who are you?")))
        #expect(test.effects().contains("invalidate token"))
    }

    @Test("An answer without a value for each transform fails the stream, and no write is lost")
    func transforms() throws {
        var test = RemoteStoreUnderTest()
        let increment = try Mutation.increment("c/x", "n", by: 1)
        test.store.add([.test(1, [increment])])
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        _ = test.effects()
        test.commit(1)
        #expect(test.effects().contains("attempt 1: internal"))
        #expect(test.store.pipelineCount == 1)

        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        _ = test.effects()
        let result = MutationResult(version: .test(1), transformResults: [1])
        let response = CommitResponse(commitVersion: .test(1), results: [result])
        test.write(.committed(response, streamToken: [2]))
        #expect(test.effects().contains("acknowledge 1 at 1"))
    }

    @Test("An answer that cannot be fails the stream, and no write is lost")
    func nonsense() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.commit(1, results: 2)
        #expect(test.effects().contains("attempt 1: internal"))
        test.commit(1)
        #expect(test.effects().isEmpty)
        #expect(test.store.pipelineCount == 1)

        test = try RemoteStoreUnderTest.writing(1)
        test.write(.handshake(streamToken: [1]))
        #expect(test.effects().contains("attempt 1: internal"))

        test = try RemoteStoreUnderTest.writing(1)
        test.commit(1)
        test.commit(1)
        #expect(
            test.effects() == [
                "cancel write_online_state_timeout", "acknowledge 1 at 1",
                "cancel write_health_check_timeout", "close write", "unknown: not asked",
                "wants 10 after 1",
            ])

        test = RemoteStoreUnderTest()
        test.store.add([try .test(1)])
        _ = test.effects()
        test.commit(1)
        #expect(
            test.effects() == [
                "close write", "cancel write_online_state_timeout", "warn",
                "offline: failed internal for listeners: unknown", "attempt 1 unsent: internal",
                "set write_stream_connection_backoff 0.0 seconds",
            ])
        test.store.fire(.writeStreamBackoff)
        _ = test.effects()
        test.write(.handshake(streamToken: [1]))
        #expect(test.effects().first == "close write")
        #expect(test.store.pipelineCount == 1)
    }
}
