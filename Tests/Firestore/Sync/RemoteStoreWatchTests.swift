import HashTreeCollections
import LarderModel
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("The network side: watching")
struct RemoteStoreWatchTests {
    private let away = LarderError(.unavailable, "away")

    @Test("Nothing that happened asks for nothing")
    func begins() {
        var test = RemoteStoreUnderTest()
        #expect(test.effects().isEmpty)
        #expect(test.store.canUseNetwork)
        for timer in EngineTimer.allCases { test.store.fire(timer) }
        test.store.unlisten(2)
        test.watch(.opened)
        test.write(.opened)
        test.watch(.closed(away))
        test.write(.closed(away))
        test.store.enableNetwork(reason: .storeFailure)
        #expect(test.effects() == ["wants 10 after 0"])
        #expect(test.effects().isEmpty)
    }

    @Test("The first target opens the stream, and all are asked for once it is open")
    func opens() throws {
        var test = RemoteStoreUnderTest()
        test.listen(4)
        #expect(
            test.effects() == [
                "set online_state_timeout 10.0 seconds", "unknown: connecting", "open watch 1",
            ])
        test.listen(2, token: [7], version: 5)
        test.listen(6, version: 8)
        test.remoteKeys = [2: [try DocumentPath("c2/a"), try DocumentPath("c2/b")]]
        #expect(test.effects().isEmpty)
        test.watch(.opened)
        #expect(
            test.effects() == [
                "set health_check_timeout 10.0 seconds", "add 2 token [7] expects 2", "add 4",
                "add 6 time 8 expects 0",
            ])
        test.listen(8, token: [1])
        test.listen(8, token: [2])
        #expect(test.effects() == ["add 8 token [1] expects 0"])
        test.watch(.added, [2, 4, 6, 8])
        // Not all of it was told: the timer goes on.
        #expect(test.effects() == ["online: answered"])
        test.watch(.current, [2, 4, 6])
        #expect(test.effects().isEmpty)
        test.watch(.current, [8])
        #expect(test.effects() == ["cancel online_state_timeout"])
    }

    @Test("A target that is not listened to any more is removed; the last one leaves it idle")
    func unlistens() {
        var test = RemoteStoreUnderTest.watching(2, 4)
        test.store.unlisten(2)
        #expect(test.effects() == ["remove 2"])
        test.store.unlisten(4)
        test.store.unlisten(4)
        #expect(
            test.effects() == [
                "remove 4", "cancel online_state_timeout", "set listen_stream_idle 60.0 seconds",
            ])
        test.listen(6)
        #expect(
            test.effects() == [
                "cancel listen_stream_idle", "add 6", "set online_state_timeout 10.0 seconds",
            ])
        test.store.unlisten(6)
        _ = test.effects()
        test.store.fire(.watchStreamIdle)
        #expect(
            test.effects() == [
                "cancel health_check_timeout", "close watch", "unknown: not asked",
            ])
        // A stream that was let go did not fail.
        test.listen(2)
        #expect(
            test.effects() == [
                "set online_state_timeout 10.0 seconds", "unknown: connecting", "open watch 2",
            ])
    }

    @Test("A stream that opens after the last target has ended is idle")
    func opensForNobody() {
        var test = RemoteStoreUnderTest()
        test.listen(2)
        test.store.unlisten(2)
        #expect(
            test.effects().suffix(2) == ["cancel online_state_timeout", "unknown: not asked"])
        test.watch(.opened)
        #expect(
            test.effects() == [
                "set health_check_timeout 10.0 seconds", "set listen_stream_idle 60.0 seconds",
            ])
    }

    @Test("A snapshot takes along the tokens of the targets, also to the next stream")
    func snapshots() throws {
        var test = RemoteStoreUnderTest.watching(2, 4)
        test.watch(.current, [2], token: [9])
        test.watch(.none, [4], token: [8])
        #expect(test.effects().isEmpty)
        test.watch(.none, at: 10)
        #expect(test.effects() == ["apply 10"])
        #expect(test.events[0].targets[2]?.isCurrent == true)
        #expect(test.store.targets[2]?.resumeToken == [9])
        #expect(test.store.targets[2]?.snapshotVersion == .test(10))
        test.watch(.closed(away))
        _ = test.effects()
        test.store.fire(.watchStreamBackoff)
        test.watch(.opened)
        #expect(
            test.effects().suffix(2) == ["add 2 token [9] expects 0", "add 4 token [8] expects 0"])
    }

    @Test("A snapshot older than the last one is not raised; its changes come with the next")
    func oldSnapshots() throws {
        var test = RemoteStoreUnderTest.watching(2)
        test.store.lastSnapshotVersion = .test(10)
        let path = try DocumentPath("c2/a")
        let reading = DocumentReading(path: path, contents: .absent, version: .test(3))
        test.watch(.response(.document(reading, targetIDs: [2], removedTargetIDs: [])))
        test.watch(.none, at: 9)
        // Of some targets only, so it is no snapshot.
        test.watch(.none, [2], at: 11)
        #expect(test.effects().isEmpty)
        test.watch(.none, at: 10)
        test.watch(.none, at: 12)
        test.watch(.none, at: 11)
        #expect(test.effects() == ["apply 10", "apply 12"])
        #expect(test.events[0].documents[path]?.version == .test(3))
    }

    @Test("The first target takes another target's last token along, to a backend of ours")
    func lastToken() throws {
        let own = larderTokenMark + [1]
        for (token, isSent) in [
            (larderTokenMark + [2], true), (own, false), ([7], false), ([], false),
        ] {
            var test = RemoteStoreUnderTest()
            test.store.lastToken = token
            test.listen(2, token: own)
            test.listen(4)
            _ = test.store.takeEffects()
            test.watch(.opened)
            let sent = test.store.takeEffects().compactMap { effect in
                if case .sendWatch(.add(let target)) = effect { target.lastToken } else { nil }
            }
            #expect(sent == [isSent ? token : [], []])
        }
    }

    @Test("A target whose count does not agree is requested again without a token")
    func mismatches() throws {
        var test = RemoteStoreUnderTest.watching(2, 4)
        test.remoteKeys[2] = [try DocumentPath("c2/a")]
        test.watch(.current, [2], token: [9])
        test.watch(.none, at: 10)
        _ = test.effects()
        test.watch(.response(.existenceFilter(targetID: 2, count: 5, unchanged: nil)))
        test.watch(.none, [2], token: [10])
        test.watch(.none, at: 11)
        #expect(
            test.effects() == ["remove 2", "add 2 for existenceFilterMismatch", "apply 11"])
        #expect(test.events[1].mismatches == [2: .existenceFilterMismatch])
        #expect(test.store.targets[2] == .test(2))
        // What the stream tells before it has answered both requests is of the old one.
        test.watch(.current, [2], token: [11])
        test.watch(.none, at: 12)
        #expect(test.store.targets[2]?.resumeToken == [])
        test.watch(.removed(nil), [2])
        test.watch(.added, [2])
        test.watch(.current, [2], token: [12])
        test.watch(.none, at: 13)
        #expect(test.store.targets[2]?.resumeToken == [12])
        // The purpose was for one request.
        test.watch(.closed(away))
        test.store.fire(.watchStreamBackoff)
        _ = test.effects()
        test.watch(.opened)
        #expect(test.effects().contains("add 2 token [12] expects 1"))
    }

    @Test("A target that the backend removes for a reason is rejected, and no snapshot is raised")
    func rejects() {
        var test = RemoteStoreUnderTest.watching(2, 4)
        let refused = LarderError(.permissionDenied, "no")
        test.watch(.removed(refused), [2, 99], at: 5)
        #expect(test.effects() == ["reject target 2: permissionDenied"])
        #expect(test.store.targets.keys.sorted() == [4])
        test.store.unlisten(2)
        #expect(test.effects().isEmpty)
        // Of all targets.
        test.watch(.removed(refused))
        #expect(
            test.effects() == [
                "cancel online_state_timeout", "reject target 4: permissionDenied",
                "set listen_stream_idle 60.0 seconds",
            ])
    }
}
