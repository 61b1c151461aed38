import LarderModel
import LarderQuery
import LarderRemote
import LarderWire
import Testing

@testable import LarderServer

@Suite("Server: the targets of a stream")
struct ListenTargetsTests {
    private var targets = ListenTargets()
    private let snapshot = TargetChange(
        .none, readTime: SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0)))

    private func change(_ kind: TargetChange.Kind, _ id: Int32 = 5) -> TargetChange {
        TargetChange(kind, targetIDs: [id])
    }

    private mutating func add(
        _ id: Int32 = 5, _ field: String? = nil, isOnce: Bool = false
    ) throws {
        let target = Query(.collection(try CollectionPath("c"))).target
        targets.add(
            WatchSelection(
                .add(WatchTarget(id: id, target: target)),
                mask: try field.map { FieldMask([try FieldPath($0)]) }, isOnce: isOnce),
            bytes: 100)
    }

    private mutating func remove(_ id: Int32 = 5) {
        targets.add(WatchSelection(.remove(targetID: id)), bytes: 0)
    }

    private func names() -> [String]? { targets.mask(5)?.paths.map { "\($0)" } }

    @Test("A number that is used again means the earlier target until the later is there")
    mutating func usedAgain() throws {
        try add(5, "a")
        #expect(targets.count == 1 && names() == nil)
        #expect(targets.note(change(.added)).isEmpty && names() == ["a"])
        remove()
        #expect(targets.count == 0 && names() == ["a"])
        try add(5, "b")
        remove()
        try add(5, "c")
        #expect(targets.count == 1 && names() == ["a"])
        for name in ["b", "c"] {
            _ = targets.note(change(.removed(nil)))
            #expect(names() == nil)
            _ = targets.note(change(.added))
            #expect(names() == [name])
        }
        #expect(targets.count == 1)
        #expect(targets.heldBytes == 100)
    }

    @Test("A target that the backend ends is counted no longer, whether it was there or not")
    mutating func failed() throws {
        let failure = TargetChange.Kind.removed(LarderError(.permissionDenied, "no"))
        try add(5, "a")
        _ = targets.note(change(failure))
        #expect(targets.count == 0)
        // The end that the client asked for meanwhile is of nothing.
        remove()
        try add(5, "b")
        _ = targets.note(change(.removed(nil)))
        _ = targets.note(change(.added))
        #expect(names() == ["b"] && targets.count == 1)
        _ = targets.note(change(failure))
        #expect(names() == nil && targets.count == 0)
        remove(6)
        _ = targets.note(change(.removed(nil), 6))
        #expect(targets.count == 0)
        #expect(targets.heldBytes == 0)
    }

    @Test("A refused target does not count towards the limit, and its ID can be reused")
    mutating func refused() throws {
        try add(5, "a")
        _ = targets.note(change(.added))
        remove()
        targets.addRefused(5)
        try add(5, "b")
        #expect(targets.count == 1 && names() == ["a"])
        _ = targets.note(change(.removed(nil)))
        _ = targets.note(change(.added))
        #expect(names() == nil)
        _ = targets.note(change(.removed(LarderError(.invalidArgument, "no"))))
        _ = targets.note(change(.added))
        #expect(names() == ["b"] && targets.count == 1)
    }

    @Test("A target with `once` ends with the snapshot after it becomes current")
    mutating func once() throws {
        try add(5, isOnce: true)
        try add(6)
        try add(7, isOnce: true)
        for id: Int32 in 5...7 { #expect(targets.note(change(.added, id)).isEmpty) }
        #expect(targets.note(snapshot).isEmpty)
        for id: Int32 in 5...7 { #expect(targets.note(change(.current, id)).isEmpty) }
        // The client is faster with this one.
        remove(7)
        #expect(targets.note(snapshot) == [5])
        #expect(targets.count == 1 && targets.note(snapshot).isEmpty)
    }
}
