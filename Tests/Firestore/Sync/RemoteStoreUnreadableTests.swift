import HashTreeCollections
import LarderModel
import LarderRemote
import Testing

@testable import LarderSync

@Suite("Documents that cannot be received")
struct RemoteStoreUnreadableTests {
    private let malformed = LarderError(.internal, "the backend's response is malformed")

    private func unreadable(
        _ path: DocumentPath?, in targetIDs: [Int32], leaving removedTargetIDs: [Int32] = []
    ) -> WatchEvent {
        .response(
            .unreadable(
                path, malformed, targetIDs: targetIDs, removedTargetIDs: removedTargetIDs))
    }

    private func document(_ path: DocumentPath, _ record: Record, in id: Int32) -> WatchEvent {
        let reading = DocumentReading(
            path: path, contents: .found(record, createTime: nil), version: .test(5))
        return .response(.document(reading, targetIDs: [id], removedTargetIDs: []))
    }

    @Test("A document that cannot be decoded ends its targets and no others")
    func endsTargets() throws {
        var test = RemoteStoreUnderTest.watching(2, 4, 6)
        test.watch(unreadable(try DocumentPath("c2/d"), in: [2, 4]))
        #expect(
            test.effects() == [
                "reject target 2: internal", "reject target 4: internal", "remove 2", "remove 4",
            ])
        #expect(Set(test.store.targets.keys) == [6])
        #expect(test.store.watchStream.isOpen)
        // The backend's answers, and what it sent before it knew.
        test.watch(document(try DocumentPath("c2/e"), try Record(["a": 1]), in: 2))
        test.watch(.removed(nil), [2, 4])
        test.watch(document(try DocumentPath("c6/d"), try Record(["a": 1]), in: 6))
        test.watch(.current, [6], token: [1])
        test.watch(.none, token: [1], at: 9)
        #expect(test.effects().contains("apply 9"))
        #expect(test.events.map { $0.documents.map(\.key.string) } == [["c6/d"]])
    }

    @Test("A target that such a document has left goes on without it, if its name is known")
    func leaves() throws {
        let path = try DocumentPath("c2/d")
        var test = RemoteStoreUnderTest.watching(2, 4)
        test.remoteKeys[2] = [path]
        test.watch(unreadable(path, in: [], leaving: [2]))
        #expect(test.effects().isEmpty)
        test.watch(.current, [2, 4], token: [1])
        test.watch(.none, token: [1], at: 9)
        _ = test.effects()
        #expect(test.events.first?.targets[2]?.removed == [path])
        test.watch(unreadable(nil, in: [], leaving: [4]))
        #expect(test.effects() == ["reject target 4: internal", "remove 4"])
    }

    @Test("A document above the store's limit ends its target, with its name and size")
    func tooLarge() throws {
        let path = try DocumentPath("c2/large")
        let text = String(repeating: "x", count: 1 << 20)
        var test = RemoteStoreUnderTest.watching(2, 4)
        test.watch(document(path, try Record(["a": .string(text)]), in: 2))
        let effects = test.store.takeEffects()
        guard case .rejectTarget(2, let error) = effects.first else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.kind == .resourceExhausted && error.condition == .tooLarge)
        #expect(
            error.message == "the document 'c2/large' cannot be received: it has 1048579 bytes; "
                + "this database accepts 1048576")
        test.watch(document(path, try Record(["a": .string(String(text.dropLast(3)))]), in: 4))
        #expect(test.effects().isEmpty)
    }

    @Test("A target that is asked for anew is not ended by what was sent before")
    func stale() throws {
        var test = RemoteStoreUnderTest.watching(2)
        test.store.unlisten(2)
        test.listen(2)
        _ = test.effects()
        test.watch(unreadable(try DocumentPath("c2/d"), in: [2]))
        #expect(test.effects().isEmpty)
    }

    @Test("The last target's end leaves the stream idle")
    func idle() throws {
        var test = RemoteStoreUnderTest.watching(2)
        test.watch(unreadable(nil, in: [2]))
        #expect(test.effects().contains { $0.hasPrefix("set listen_stream_idle") })
    }
}
