import LarderModel
import LarderRemote
import LarderSync
import Testing

@Suite("The network side: on and off")
struct RemoteStoreNetworkTests {
    private let away = LarderError(.unavailable, "away")

    /// A store with both streams open and used.
    private func busy() throws -> RemoteStoreUnderTest {
        var test = RemoteStoreUnderTest.watching(2)
        test.store.add([try .test(1), try .test(2)])
        _ = test.effects()
        test.write(.opened)
        test.write(.handshake(streamToken: [1]))
        test.watch(.current, [2], token: [5])
        test.watch(.none, at: 3)
        _ = test.effects()
        return test
    }

    @Test("Disabling closes both streams and empties the pipeline; enabling starts again")
    func disables() throws {
        var test = try busy()
        test.store.disableNetwork(reason: .user)
        #expect(!test.store.canUseNetwork)
        #expect(
            test.effects() == [
                "cancel health_check_timeout", "close watch", "write [] token [1]",
                "cancel write_health_check_timeout", "close write",
                "cancel write_online_state_timeout", "offline: disabled 1",
            ])
        #expect(test.store.pipelineCount == 0)
        test.store.disableNetwork(reason: .user)
        test.store.fillWritePipeline()
        test.store.add([try .test(1)])
        test.listen(4)
        test.store.unlisten(4)
        test.store.restart()
        #expect(test.effects().isEmpty)
        #expect(test.store.pipelineCount == 0)

        test.store.enableNetwork()
        #expect(
            test.effects() == [
                "open watch 2", "set online_state_timeout 10.0 seconds", "unknown: connecting",
                "wants 10 after 0",
            ])
        test.watch(.opened)
        #expect(test.effects().last == "add 2 token [5] expects 0")
    }

    @Test("The network is used only when there is no cause left not to")
    func causes() throws {
        var test = RemoteStoreUnderTest()
        test.store.disableNetwork(reason: .notPrimary)
        #expect(test.effects() == ["unknown: disabled 4"])
        test.listen(2)
        test.store.disableNetwork(reason: .storeFailure)
        #expect(test.effects() == ["offline: disabled 6"])
        test.store.enableNetwork(reason: .notPrimary)
        #expect(test.effects() == ["offline: disabled 2"])
        test.store.enableNetwork(reason: .user)
        #expect(test.effects().isEmpty)
        test.store.enableNetwork(reason: .storeFailure)
        #expect(test.effects().first == "open watch 1")
        test.store.shutdown()
        #expect(
            test.effects() == [
                "close watch", "cancel online_state_timeout", "unknown: disabled 8",
            ])
    }

    @Test("Without targets the state is unknown after the network was enabled")
    func enablesForNobody() {
        var test = RemoteStoreUnderTest()
        test.store.disableNetwork(reason: .user)
        _ = test.effects()
        test.store.enableNetwork()
        #expect(test.effects() == ["unknown: not asked", "wants 10 after 0"])
    }

    @Test("Enabling does not wait for what failed before")
    func inhibitsBackoff() throws {
        var test = try busy()
        for _ in 0..<3 {
            test.watch(.closed(away))
            test.write(.closed(away))
            test.store.fire(.watchStreamBackoff)
            test.store.fire(.writeStreamBackoff)
            _ = test.effects()
        }
        test.watch(.closed(away))
        test.write(.closed(away))
        _ = test.effects()
        test.store.disableNetwork(reason: .user)
        #expect(
            test.effects() == [
                "cancel listen_stream_connection_backoff", "cancel write_stream_connection_backoff",
                "offline: disabled 1",
            ])
        test.store.enableNetwork()
        test.store.add([try .test(1)])
        let effects = test.effects()
        #expect(effects.contains { $0.hasPrefix("open watch") })
        #expect(effects.contains { $0.hasPrefix("open write") })
    }

    @Test("A restart reopens both streams and reads the queue from its beginning")
    func restarts() throws {
        var test = try busy()
        test.store.restart()
        #expect(
            test.effects() == [
                "cancel health_check_timeout", "close watch", "write [] token [1]",
                "cancel write_health_check_timeout", "close write",
                "cancel write_online_state_timeout", "open watch 2",
                "set online_state_timeout 10.0 seconds", "unknown: connecting",
                "wants 10 after 0",
            ])
        test.store.add([try .test(1)])
        #expect(
            test.effects() == ["set write_online_state_timeout 10.0 seconds", "open write 2"])
    }

    @Test("A question that was not answered when the network went is not asked")
    func questions() {
        var test = RemoteStoreUnderTest()
        test.store.fillWritePipeline()
        test.store.disableNetwork(reason: .user)
        #expect(test.effects() == ["offline: disabled 1"])
    }
}
