import LarderDocumentStore
import LarderModel
import LarderSync
import Testing

@Suite("Local store: acknowledgements, rejections, remote documents")
struct LocalStoreCompletionTests {
    private let fixture: LocalStoreFixture

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("An acknowledged write is cached as committed, and leaves the queue")
    func acknowledged() throws {
        let batch = try fixture.write(.set("c/a", ["x": 1]))
        let changes = try fixture.acknowledge(batch, at: 4)
        let view = try #require(try fixture.view("c/a"))
        #expect(view.fields == ["x": 1] && view.version == SnapshotVersion(seconds: 4))
        #expect(view.hasCommittedMutations && !view.hasLocalMutations)
        #expect(view.readTime == SnapshotVersion(seconds: 4))
        #expect(changes.count == 1 && changes[0].after == view)
        #expect(changes[0].before?.hasLocalMutations == true)
        #expect(try fixture.local.pendingBatches().isEmpty)
    }

    @Test("What the watch stream has brought already is not overwritten")
    func outdated() throws {
        let batch = try fixture.write(.set("c/a", ["x": 1]))
        try fixture.learn("c/a", ["x": 2], at: 9)
        #expect(try fixture.view("c/a")?.fields == ["x": 1])
        try fixture.acknowledge(batch, at: 4)
        let view = try #require(try fixture.view("c/a"))
        #expect(view.fields == ["x": 2] && view.version == SnapshotVersion(seconds: 9))
        #expect(!view.hasPendingWrites)
    }

    @Test("A committed increment has the backend's number")
    func serverResults() throws {
        try fixture.learn("c/a", ["n": 1], at: 1)
        let batch = try fixture.write(.increment("c/a", "n", by: 1))
        #expect(try fixture.view("c/a")?.fields == ["n": 2])
        try fixture.acknowledge(batch, at: 4, [[50]])
        #expect(try fixture.view("c/a")?.fields == ["n": 50])
    }

    @Test("An acknowledged update of a document that is not cached leaves unknown fields")
    func unknown() throws {
        let batch = try fixture.write(.update("c/a", ["x": 1]))
        try fixture.acknowledge(batch, at: 4)
        #expect(try fixture.view("c/a")?.state == .unknown)
        try fixture.learn("c/a", ["x": 1], at: 4)
        #expect(try fixture.view("c/a")?.fields == ["x": 1])
    }

    @Test("A later batch's overlay survives the acknowledgement of an earlier one")
    func laterBatch() throws {
        let first = try fixture.write(.set("c/a", ["x": 1, "n": 1]))
        let second = try fixture.write(.update("c/a", ["y": 2]))
        try fixture.acknowledge(first, at: 4)
        let view = try #require(try fixture.view("c/a"))
        #expect(view.fields == ["n": 1, "x": 1, "y": 2] && view.hasLocalMutations)
        #expect(view.largestBatchID == second.id)
        // What is pending no longer is not held on to.
        try fixture.learn("c/a", ["x": 9], at: 5)
        #expect(try fixture.view("c/a")?.fields == ["x": 9, "y": 2])
    }

    @Test("a batch in the middle of the queue can be cancelled")
    func cancelled() throws {
        _ = try fixture.write(.set("c/a", ["x": 1]))
        let middle = try fixture.write(.update("c/a", ["x": 2, "y": 2]), .set("c/b", [:]))
        let last = try fixture.write(.update("c/a", ["z": 3]))
        let changes = try fixture.local.cancel([middle.id])
        #expect(changes.map(\.path.string) == ["c/a", "c/b"])
        #expect(try fixture.view("c/a")?.fields == ["x": 1, "z": 3])
        #expect(try fixture.view("c/a")?.largestBatchID == last.id)
        #expect(try fixture.view("c/b") == nil && changes[1].after == nil)
        #expect(try fixture.local.cancel([middle.id]).isEmpty)
    }

    @Test("a rejected write gives way to what is cached")
    func rejected() throws {
        try fixture.learn("c/a", ["x": 1], at: 1)
        let batch = try fixture.write(.delete("c/a"))
        let changes = try fixture.local.cancel([batch.id])
        #expect(changes[0].before?.state == .absent)
        #expect(changes[0].after?.fields == ["x": 1])
        #expect(changes[0].after?.hasPendingWrites == false)
    }

    @Test("An increment is not counted twice when its result comes back early")
    func bases() throws {
        try fixture.learn("c/a", ["n": 5], at: 1)
        let batch = try fixture.write(.increment("c/a", "n", by: 1))
        try fixture.learn("c/a", ["n": 6, "x": 1], at: 2)
        #expect(try fixture.view("c/a")?.fields == ["n": 6, "x": 1])
        try fixture.acknowledge(batch, at: 2, [[6]])
        #expect(try fixture.view("c/a")?.fields == ["n": 6, "x": 1])
        #expect(try fixture.view("c/a")?.hasPendingWrites == false)
    }

    @Test("an increment counts from what is left when one before it is cancelled")
    func cancelledIncrement() throws {
        try fixture.learn("c/a", ["n": 5], at: 1)
        let first = try fixture.write(.increment("c/a", "n", by: 10))
        _ = try fixture.write(.increment("c/a", "n", by: 1))
        #expect(try fixture.view("c/a")?.fields == ["n": 16])
        _ = try fixture.local.cancel([first.id])
        #expect(try fixture.view("c/a")?.fields == ["n": 6])
    }

    @Test("Other transforms are made again over what the backend brings")
    func replayed() throws {
        try fixture.learn("c/a", ["list": []], at: 1)
        let union = FieldTransform(try FieldPath("list"), .arrayUnion([1]))
        try fixture.write(
            Mutation(
                .patch(Record([:]), FieldMask([FieldPath]())), at: DocumentPath("c/a"),
                transforms: [union]))
        try fixture.learn("c/a", ["list": [2]], at: 2)
        #expect(try fixture.view("c/a")?.fields == ["list": [2, 1]])
    }

    @Test("A pending update appears and goes as its document does")
    func existence() throws {
        try fixture.write(.update("c/a", ["y": 2]))
        try fixture.learn("c/a", ["x": 1], at: 1)
        #expect(try fixture.view("c/a")?.fields == ["x": 1, "y": 2])
        try fixture.learn("c/a", nil, at: 2)
        #expect(try fixture.view("c/a")?.state == .absent)
        #expect(try fixture.view("c/a")?.hasPendingWrites == false)
    }

    @Test("An older update is ignored, one of no version makes the cache forget")
    func updates() throws {
        try fixture.learn("c/a", ["x": 1], at: 5)
        #expect(try fixture.learn("c/a", ["x": 2], at: 4).isEmpty)
        #expect(try fixture.learn("c/a", ["x": 2], at: 5).isEmpty)
        #expect(try fixture.view("c/a")?.fields == ["x": 1])
        #expect(try fixture.learn("c/a", nil, at: 0).count == 1)
        #expect(try fixture.view("c/a") == nil)
    }

    @Test("an acknowledgement that does not fit its batch changes nothing")
    func misfits() throws {
        let batch = try fixture.write(.set("c/a", ["x": 1]))
        #expect(throws: LarderError.self) { try fixture.acknowledge(batch, at: 4, []) }
        #expect(throws: LarderError.self) { try fixture.acknowledge(batch, at: 4, [[1]]) }
        #expect(try fixture.local.pendingBatches().count == 1)
        #expect(try fixture.view("c/a")?.hasLocalMutations == true)
    }

    @Test("what one user's writes do to a document is seen below another's pending writes")
    func otherUsers() throws {
        try fixture.learn("c/a", ["x": 1, "n": 1], at: 1)
        let bob = LocalStoreFixture.local(fixture.store, "bob")
        _ = try bob.write([fixture.pending([.update("c/a", ["y": 2])])])
        let batch = try fixture.write(.update("c/a", ["x": 7]))
        try fixture.acknowledge(batch, at: 4)
        #expect(try fixture.view("c/a", of: "bob")?.fields == ["n": 1, "x": 7, "y": 2])
        try fixture.learn("c/a", ["n": 2], at: 5)
        #expect(try fixture.view("c/a", of: "bob")?.fields == ["n": 2, "y": 2])
    }

    @Test("a document that grows beyond the limits below a pending write blocks nothing")
    func grown() throws {
        let fixture = try LocalStoreFixture(maxDocumentBytes: 1000)
        try fixture.learn("c/a", ["x": 1], at: 1)
        let text = Value.string(String(repeating: "x", count: 600))
        let batch = try fixture.write(.update("c/a", ["y": text]))
        try fixture.learn("c/a", ["z": text], at: 2)
        #expect(try fixture.view("c/a")?.fields == ["z": text])
        try fixture.acknowledge(batch, at: 3)
        #expect(try fixture.view("c/a")?.state == .unknown)
        #expect(try fixture.local.pendingBatches().isEmpty)
        #expect(try fixture.store.check().isClean)
    }
}
