import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import OrderedCollections
import Testing

@Suite("The watch aggregator")
struct WatchAggregatorTests {
    /// A stream with an aggregator, and its owner.
    struct Stream {
        var world = WatchWorld()
        var aggregator = WatchAggregator(databaseID: DatabaseID(project: "p"))

        /// Watches a target, which the backend answers at once.
        mutating func watch(
            _ id: Int32, _ path: String, for purpose: WatchTarget.Purpose = .listen,
            knowing known: [String] = []
        ) throws {
            try world.watch(id, path, for: purpose, knowing: known)
            aggregator.recordPendingRequest(id)
            tell(.added, [id])
        }

        mutating func tell(_ kind: TargetChange.Kind, _ ids: [Int32] = [], token: [UInt8] = []) {
            let change = TargetChange(kind, targetIDs: ids, resumeToken: token)
            aggregator.handle(.targets(change), knowing: world)
        }

        mutating func tell(_ reading: DocumentReading, _ ids: [Int32], leaving: [Int32] = []) {
            aggregator.handle(
                .document(reading, targetIDs: ids, removedTargetIDs: leaving), knowing: world)
        }

        mutating func remove(_ path: String, _ ids: [Int32]) throws {
            aggregator.handle(
                .removed(try DocumentPath(path), removedTargetIDs: ids), knowing: world)
        }

        /// The event of a version, which the owner takes.
        mutating func event(_ version: Int64 = 100) -> RemoteEvent {
            let event = aggregator.makeEvent(at: .test(version), knowing: world)
            world.apply(event)
            return event
        }
    }

    @Test("Documents are added, modified or removed by what was known of them")
    func classifies() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/known", "c/gone", "c/left"])
        stream.tell(try .found("c/new", 1), [2])
        stream.tell(try .found("c/known", 2), [2])
        stream.tell(try .absent("c/gone", 3), [2])
        try stream.remove("c/left", [2])
        let event = stream.event(7)
        #expect(event.version == .test(7))
        #expect(
            event.targets == [
                2: RemoteTargetChange(
                    added: try paths("c/new"), modified: try paths("c/known"),
                    removed: try paths("c/gone", "c/left"))
            ])
        #expect(Set(event.documents.keys) == (try paths("c/new", "c/known", "c/gone")))
        #expect(event.documents[try DocumentPath("c/gone")] == (try .absent("c/gone", 3)))
        #expect(event.resolvedLimboDocuments.isEmpty)
        #expect(stream.event().targets.isEmpty)
    }

    @Test("What comes and goes between two events is no change, and its last contents count")
    func cancels() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/b"])
        stream.tell(try .found("c/a", 1), [2])
        try stream.remove("c/a", [2])
        try stream.remove("c/b", [2])
        stream.tell(try .found("c/b", 2), [2])
        stream.tell(try .found("c/b", 3), [2])
        let event = stream.event()
        #expect(event.targets == [2: RemoteTargetChange(modified: try paths("c/b"))])
        #expect(event.documents[try DocumentPath("c/a")] == (try .found("c/a", 1)))
        #expect(event.documents[try DocumentPath("c/b")] == (try .found("c/b", 3)))
    }

    @Test("A document may enter some targets and leave others, with its contents")
    func entersAndLeaves() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        try stream.watch(4, "c", knowing: ["c/a"])
        stream.tell(try .found("c/a", 1), [2], leaving: [4])
        let event = stream.event()
        #expect(event.targets[2] == RemoteTargetChange(added: try paths("c/a")))
        #expect(event.targets[4] == RemoteTargetChange(removed: try paths("c/a")))
        #expect(event.documents.count == 1)
    }

    @Test("A target counts from the answer to its last request on")
    func waits() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        stream.tell(try .found("c/a", 1), [2])
        // Watched no longer, and again.
        stream.aggregator.recordPendingRequest(2)
        stream.aggregator.recordPendingRequest(2)
        stream.tell(try .found("c/b", 2), [2])
        stream.tell(.current, [2], token: [1])
        #expect(stream.event().targets.isEmpty)
        stream.tell(.removed(nil), [2])
        stream.tell(try .found("c/b", 3), [2])
        stream.tell(.added, [2])
        stream.tell(try .found("c/c", 4), [2])
        let event = stream.event()
        #expect(event.targets == [2: RemoteTargetChange(added: try paths("c/c"))])
        #expect(Set(event.documents.keys) == (try paths("c/c")))
    }

    @Test("An answer says nothing of its target by itself, unless it has a token")
    func answers() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        #expect(stream.event().targets.isEmpty)
        stream.aggregator.recordPendingRequest(2)
        stream.tell(.added, [2], token: [7])
        #expect(stream.event().targets == [2: RemoteTargetChange(resumeToken: [7])])
    }

    @Test("Answers that nothing waits for are passed over")
    func straysAnswers() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        stream.tell(try .found("c/a", 1), [2])
        stream.tell(.added, [2])
        stream.tell(.added)
        #expect(stream.event().targets[2]?.added == (try paths("c/a")))
        stream.tell(.removed(nil), [2])
        stream.tell(.removed(nil), [2])
        stream.tell(try .found("c/b", 1), [2])
        #expect(stream.event().documents.isEmpty)
    }

    @Test("Targets that were not asked for, or are not wanted any more, change nothing")
    func ignores() throws {
        var stream = Stream()
        try stream.world.watch(4, "c")
        try stream.watch(6, "c")
        stream.world.targets[6] = nil
        try stream.watch(8, "c")
        stream.aggregator.remove(8)
        for id in [2, 4, 6, 8] as [Int32] {
            stream.tell(try .found("c/a", 1), [id], leaving: [id])
            try stream.remove("c/a", [id])
            for kind in [.none, .added, .current, .reset, .removed(nil)] as [TargetChange.Kind] {
                stream.tell(kind, [id], token: [1])
            }
            stream.aggregator.handle(
                .existenceFilter(targetID: id, count: 3, unchanged: nil), knowing: stream.world)
        }
        let event = stream.event()
        #expect(event.targets.isEmpty && event.documents.isEmpty && event.mismatches.isEmpty)
    }

    @Test("A change without targets is one of all that are active")
    func changesAll() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        try stream.watch(4, "d")
        try stream.world.watch(6, "e")
        stream.aggregator.recordPendingRequest(6)
        stream.tell(.none, token: [3])
        stream.tell(.none)
        #expect(
            stream.event().targets == [
                2: RemoteTargetChange(resumeToken: [3]), 4: RemoteTargetChange(resumeToken: [3]),
            ])
        stream.tell(.current)
        #expect(
            stream.event().targets == [
                2: RemoteTargetChange(resumeToken: [3], isCurrent: true),
                4: RemoteTargetChange(resumeToken: [3], isCurrent: true),
            ])
    }

    @Test("After a reset, documents that are not sent again have left the target")
    func resets() throws {
        var stream = Stream()
        try stream.watch(2, "c", knowing: ["c/a", "c/b"])
        stream.tell(try .found("c/c", 1), [2])
        stream.tell(.current, [2], token: [1])
        stream.tell(.reset, [2], token: [2])
        stream.tell(try .found("c/a", 2), [2])
        #expect(
            stream.event().targets == [
                2: RemoteTargetChange(
                    resumeToken: [2], modified: try paths("c/a"), removed: try paths("c/b"))
            ])
    }

    @Test("A watched document that was not sent when its target becomes current does not exist")
    func synthesizes() throws {
        var stream = Stream()
        try stream.watch(2, "c/a")
        try stream.watch(4, "c/b", knowing: ["c/b"])
        try stream.watch(6, "c/c")
        stream.tell(try .found("c/c", 1), [6])
        #expect(stream.event(1).documents.count == 1)
        stream.tell(.current)
        let event = stream.event(2)
        #expect(event.documents == [try DocumentPath("c/a"): try .absent("c/a", 2)])
        #expect(event.targets[2] == RemoteTargetChange(isCurrent: true))
        // At each snapshot, for it may have been written since.
        #expect(stream.event(3).documents.values.map(\.version) == [.test(3)])
        stream.tell(try .found("c/a", 4), [2])
        #expect(stream.event(4).targets[2]?.added == (try paths("c/a")))
        #expect(stream.event(5).documents.isEmpty)
        try stream.remove("c/a", [2])
        #expect(stream.event(6).targets[2]?.removed == (try paths("c/a")))
        #expect(stream.event(7).documents == [try DocumentPath("c/a"): try .absent("c/a", 7)])
    }

    @Test("Another target's word of a document does not keep a current one from denying it")
    func deniesAlone() throws {
        var stream = Stream()
        try stream.watch(1, "c/a", for: .limboResolution)
        try stream.watch(2, "c")
        stream.tell(try .found("c/a", 1), [2])
        stream.tell(.current, [1])
        #expect(stream.event(3).documents == [try DocumentPath("c/a"): try .absent("c/a", 3)])
        try stream.watch(4, "c/b")
        stream.tell(try .absent("c/b", 2), [], leaving: [4])
        stream.tell(.current, [4])
        #expect(stream.event(4).documents[try DocumentPath("c/b")] == (try .absent("c/b", 2)))
    }

    @Test("A document that its own target sent and removed is missing in the same event")
    func toldAndTakenBack() throws {
        var stream = Stream()
        try stream.watch(1, "c/a", for: .limboResolution)
        try stream.watch(2, "c")
        stream.tell(try .found("c/a", 5), [1, 2])
        try stream.remove("c/a", [1, 2])
        stream.tell(.current, [1, 2])
        let event = stream.event(7)
        let path = try DocumentPath("c/a")
        #expect(
            event.documents[path]
                == DocumentReading(path: path, contents: .absent, version: .test(7)))
    }

    @Test(
        "A document that its own target said was deleted stays so, whatever others told and took back",
        arguments: [WatchTarget.Purpose.limboResolution, .listen], [true, false])
    func deletedBeforeOthers(purpose: WatchTarget.Purpose, isKnown: Bool) throws {
        var stream = Stream()
        try stream.watch(1, "c/a", for: purpose, knowing: isKnown ? ["c/a"] : [])
        try stream.watch(2, "c")
        stream.tell(.current, [1])
        stream.tell(try .absent("c/a", 3), [], leaving: [1])
        stream.tell(try .found("c/a", 2), [2])
        try stream.remove("c/a", [2])
        let event = stream.event(5)
        #expect(event.documents == [try DocumentPath("c/a"): try .absent("c/a", 5)])
        // What the target itself reports after that counts.
        stream.tell(try .absent("c/a", 6), [], leaving: [1])
        stream.tell(try .found("c/a", 7), [1])
        #expect(stream.event(8).documents == [try DocumentPath("c/a"): try .found("c/a", 7)])
    }

    @Test("Documents that only limbo targets sent are resolved limbo documents")
    func resolvesLimbo() throws {
        var stream = Stream()
        try stream.watch(1, "c/a", for: .limboResolution)
        try stream.watch(3, "c/b", for: .limboResolution)
        try stream.watch(5, "c/c", for: .limboResolution)
        try stream.watch(7, "c/d", for: .limboResolution)
        try stream.watch(2, "c")
        try stream.watch(4, "c")
        stream.tell(try .found("c/a", 1), [1])
        stream.tell(try .found("c/b", 1), [3, 2])
        stream.tell(try .absent("c/c", 1), [5])
        try stream.remove("c/c", [2])
        stream.tell(try .found("c/d", 1), [7, 4])
        // Not wanted any more, so that only limbo is left.
        stream.world.targets[4] = nil
        #expect(stream.event().resolvedLimboDocuments == (try paths("c/a", "c/d")))
    }

    @Test("Each new event begins with nothing")
    func beginsAnew() throws {
        var stream = Stream()
        try stream.watch(2, "c")
        stream.tell(try .found("c/a", 1), [2])
        stream.tell(.none, [2], token: [1])
        _ = stream.event()
        stream.tell(try .found("c/b", 1), [2])
        let event = stream.event()
        #expect(Set(event.documents.keys) == (try paths("c/b")))
        #expect(
            event.targets == [2: RemoteTargetChange(resumeToken: [1], added: try paths("c/b"))])
    }
}
