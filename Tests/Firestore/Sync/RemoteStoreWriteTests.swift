import LarderModel
import LarderRemote
import LarderSync
import Testing

@Suite("The network side: writes")
struct RemoteStoreWriteTests {
    private let away = LarderError(.unavailable, "away")
    private let refused = LarderError(.permissionDenied, "no")

    @Test("Writes open the stream, and are sent with the newest token once it is greeted")
    func sends() throws {
        var test = RemoteStoreUnderTest()
        test.store.fillWritePipeline()
        test.store.fillWritePipeline()
        #expect(test.effects() == ["wants 10 after 0"])
        test.store.add([try .test(3), try .test(5, mutations: 2)])
        #expect(
            test.effects() == [
                "set write_online_state_timeout 10.0 seconds", "unknown: connecting",
                "open write 1",
            ])
        #expect(test.store.pipelineCount == 2)
        test.write(.opened)
        #expect(
            test.effects() == ["set write_health_check_timeout 10.0 seconds", "handshake"])
        test.write(.handshake(streamToken: []))
        #expect(
            test.effects() == [
                "online: answered for listeners: unknown", "write [\"c/3-0\"] token []",
                "write [\"c/5-0\", \"c/5-1\"] token []",
            ])
        test.commit(3, token: [4])
        #expect(test.effects() == ["acknowledge 3 at 3", "wants 9 after 5"])
        test.store.add([try .test(6)])
        #expect(test.effects() == ["write [\"c/6-0\"] token [4]"])
        test.commit(5, results: 2)
        test.commit(6)
        // Answers that come together are followed by one question.
        #expect(
            test.effects() == [
                "acknowledge 5 at 5", "cancel write_online_state_timeout", "acknowledge 6 at 6",
                "wants 10 after 6",
            ])
        #expect(test.store.pipelineCount == 0)
    }

    @Test("At most ten batches are under way, each of them once and none without its turn")
    func fills() throws {
        var test = RemoteStoreUnderTest()
        test.store.add(try (1...12).map { try .test($0) })
        #expect(test.store.pipelineCount == 10)
        test.store.fillWritePipeline()
        #expect(test.effects().last == "open write 1")
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        _ = test.effects()
        test.commit(1)
        test.commit(2)
        #expect(test.effects().last == "wants 2 after 10")
        test.store.add(try (9...14).map { try .test($0) })
        #expect(
            test.effects() == ["write [\"c/11-0\"] token [2]", "write [\"c/12-0\"] token [2]"])
    }

    @Test("A stream without writes is let go after a while, with an empty write as farewell")
    func idles() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        test.commit(1)
        _ = test.effects()
        test.store.add([])
        test.store.add([])
        #expect(test.effects() == ["set write_stream_idle 60.0 seconds"])
        test.store.add([try .test(2)])
        #expect(
            test.effects() == [
                "cancel write_stream_idle", "write [\"c/2-0\"] token [2]",
                "set write_online_state_timeout 10.0 seconds",
            ])
        test.commit(2, token: [3])
        test.store.add([])
        _ = test.effects()
        test.store.fire(.writeStreamIdle)
        #expect(
            test.effects() == [
                "write [] token [3]", "cancel write_health_check_timeout", "close write",
                "unknown: not asked",
            ])
        test.store.add([try .test(3)])
        #expect(test.effects().last == "open write 2")
    }

    @Test("A stream that is not greeted yet stays for writes that came while it was unused")
    func isNeededAgain() throws {
        var test = RemoteStoreUnderTest()
        test.store.add([try .test(1)])
        test.write(.opened)
        test.forget(1, is: true)
        _ = test.effects()
        test.store.add([])
        #expect(test.effects() == ["set write_stream_idle 60.0 seconds"])
        test.store.add([try .test(2)])
        #expect(test.effects() == ["cancel write_stream_idle"])
        test.write(.handshake(streamToken: [1]))
        #expect(
            test.effects() == [
                "online: answered for listeners: unknown", "write [\"c/2-0\"] token [1]",
            ])
    }

    @Test("What an older stream says does not count")
    func older() throws {
        var test = try RemoteStoreUnderTest.writing(1)
        let old = test.writeGeneration
        test.write(.closed(away))
        test.store.fire(.writeStreamBackoff)
        _ = test.effects()
        test.store.handle(WriteEvent.opened, generation: old)
        test.store.handle(WriteEvent.handshake(streamToken: []), generation: old)
        test.store.handle(WriteEvent.closed(refused), generation: old)
        #expect(test.effects().isEmpty)
        test.write(.opened)
        test.write(.opened)
        #expect(test.effects().filter { $0 == "handshake" }.count == 1)
    }

    @Test("A batch is taken back unless its answer is awaited")
    func forgets() throws {
        var test = RemoteStoreUnderTest()
        test.store.add([try .test(1), try .test(2)])
        _ = test.effects()
        test.forget(7, is: true)
        #expect(test.effects().isEmpty)
        test.forget(1, is: true)
        #expect(test.effects() == ["wants 9 after 2"])
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        #expect(test.effects().last == "write [\"c/2-0\"] token [1]")
        test.forget(2, is: false)
        test.write(.closed(away))
        _ = test.effects()
        test.forget(2, is: true)
        test.store.fire(.writeStreamBackoff)
        #expect(test.effects() == ["wants 10 after 2"])
    }

    @Test("The owner gives up on a batch that fails again and again; the rest does not wait")
    func givesUp() throws {
        let broken = LarderError(.internal, "broken")
        var test = try RemoteStoreUnderTest.writing(1, 2)
        test.write(.closed(broken))
        test.store.fire(.writeStreamBackoff)
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        test.write(.closed(broken))
        _ = test.effects()
        test.reject(1, is: true)
        #expect(
            test.effects() == [
                "reject 1: internal", "cancel write_stream_connection_backoff", "open write 3",
                "wants 9 after 2",
            ])
        test.reject(1, is: false)
        #expect(test.effects().isEmpty)
        // One whose answer is awaited takes the stream with it.
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        _ = test.effects()
        test.reject(2, is: true)
        #expect(
            test.effects() == [
                "reject 2: internal", "write [] token [1]",
                "cancel write_health_check_timeout", "close write", "wants 10 after 2",
            ])
    }

    @Test("Giving up on a batch that did not cause the wait does not end it")
    func givesUpLater() throws {
        var test = try RemoteStoreUnderTest.writing(1, 2)
        test.write(.closed(away))
        _ = test.effects()
        test.reject(2, is: true)
        #expect(test.effects() == ["reject 2: internal", "wants 9 after 2"])
    }
}
