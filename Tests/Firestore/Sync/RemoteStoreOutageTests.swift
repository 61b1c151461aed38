import LarderModel
import LarderRemote
import LarderSync
import Testing

@Suite("The network side: outages as both streams see them")
struct RemoteStoreOutageTests {
    private let away = LarderError(.unavailable, "away")
    private let refused = LarderError(.unauthenticated, "who are you?")

    /// Reported network states, and the log.
    private func news(_ test: inout RemoteStoreUnderTest) -> [String] {
        test.effects().filter { effect in
            effect == "warn"
                || ["online: ", "offline: ", "unknown: "].contains { effect.hasPrefix($0) }
        }
    }

    @Test("A client that only writes learns of an outage and of its end, and logs it once")
    func writesAlone() throws {
        var test = RemoteStoreUnderTest()
        test.store.add([try .test(1)])
        #expect(news(&test) == ["unknown: connecting"])
        test.write(.closed(refused))
        #expect(
            news(&test) == ["warn", "offline: failed unauthenticated for listeners: unknown"])
        for _ in 0..<3 {
            test.store.fire(.writeStreamBackoff)
            test.write(.closed(away))
        }
        let effects = test.effects()
        #expect(effects.filter { $0 == "attempt 1 unsent: unavailable" }.count == 3)
        #expect(!effects.contains("warn"))
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        _ = test.effects()
        test.write(.handshake(streamToken: [1]))
        #expect(news(&test) == ["online: answered for listeners: unknown"])
        test.commit(1)
        test.store.add([])
        #expect(news(&test).isEmpty)
        test.store.fire(.writeStreamIdle)
        #expect(news(&test) == ["unknown: not asked"])
    }

    @Test("A write that is not answered in time means offline, until it is")
    func silentWrites() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.store.now = .seconds(10)
        test.store.fire(.writeOnlineState)
        #expect(news(&test) == ["warn", "offline: timed out for listeners: unknown"])
        // More writes change nothing.
        test.store.add([try .test(2)])
        #expect(news(&test).isEmpty)
        test.commit(1)
        #expect(news(&test) == ["online: answered for listeners: unknown"])
        test.commit(2)
        #expect(test.effects().contains("cancel write_online_state_timeout"))
    }

    @Test("Writes that fail again and again are an outage, also where each stream is greeted")
    func greetedInVain() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.write(.closed(LarderError(.internal, "broken")))
        #expect(news(&test) == ["unknown: failed internal", "unknown: connecting"])
        for attempt in 0..<3 {
            test.store.fire(.writeStreamBackoff)
            test.write(.opened)
            test.write(.handshake(streamToken: [1]))
            test.write(.closed(LarderError(.internal, "broken")))
            #expect(
                news(&test)
                    == (attempt == 0
                        ? ["warn", "offline: failed internal for listeners: unknown"] : []))
        }
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        test.commit(1)
        #expect(news(&test) == ["online: answered for listeners: unknown"])
    }

    @Test("An outage of both streams is logged once; whichever is answered first ends it")
    func both() throws {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        test.store.add([try .test(1)])
        _ = test.effects()
        test.watch(.closed(away))
        test.write(.closed(away))
        #expect(news(&test) == ["warn", "offline: failed unavailable"])
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        // Listeners go by the watch stream alone.
        #expect(news(&test) == ["online: answered for listeners: offline"])
        test.watch(.opened)
        test.watch(.added, [2])
        #expect(news(&test) == ["online: answered"])
    }

    @Test("The stream that has learned something last is believed")
    func newest() throws {
        var test = RemoteStoreUnderTest.watching(2)
        test.store.add([try .test(1)])
        test.write(.closed(away))
        #expect(news(&test) == ["warn", "offline: failed unavailable for listeners: online"])
        test.watch(.none)
        #expect(news(&test) == ["online: answered"])
    }

    @Test("An answer on the watch stream ends the wait of the write stream")
    func watchHelps() throws {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        test.store.add([try .test(1)])
        for _ in 0..<4 {
            test.store.fire(.writeStreamBackoff)
            test.write(.closed(away))
        }
        test.watch(.opened)
        #expect(!test.effects().contains { $0.hasPrefix("open write 5") })
        test.watch(.added, [2])
        #expect(
            test.effects().suffix(2) == [
                "cancel write_stream_connection_backoff", "open write 5",
            ])
        // The next failure is a first one; and later answers of the same stream end no wait.
        test.write(.closed(away))
        #expect(test.effects().last == "set write_stream_connection_backoff 0.0 seconds")
        test.store.fire(.writeStreamBackoff)
        test.write(.closed(away))
        #expect(test.effects().last == "set write_stream_connection_backoff 1.0 seconds")
        test.watch(.current, [2])
        #expect(!test.effects().contains("cancel write_stream_connection_backoff"))
    }

    @Test("A handshake on the write stream ends the wait of the watch stream")
    func writeHelps() throws {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        for _ in 0..<4 {
            test.store.fire(.watchStreamBackoff)
            test.watch(.closed(away))
        }
        test.store.add([try .test(1)])
        test.write(.opened)
        _ = test.effects()
        test.write(.handshake(streamToken: [1]))
        let effects = test.effects()
        #expect(effects.contains("cancel listen_stream_connection_backoff"))
        #expect(effects.contains("open watch 5"))
    }

    @Test("A backend that answered with an error of its own is left alone as long as before")
    func leavesAlone() throws {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        test.store.add([try .test(1)])
        test.write(.closed(LarderError(.resourceExhausted, "full")))
        test.watch(.opened)
        test.watch(.added, [2])
        #expect(!test.effects().contains("cancel write_stream_connection_backoff"))
    }
}
