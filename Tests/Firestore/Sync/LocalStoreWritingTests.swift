import LarderDocumentStore
import LarderModel
import LarderSync
import Testing

@Suite("Local store: writing")
struct LocalStoreWritingTests {
    private let fixture: LocalStoreFixture

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("A write is seen at once, with pending writes and no version")
    func visible() throws {
        try fixture.learn("c/a", ["x": 1], at: 1)
        let batch = try fixture.write(.update("c/a", ["y": 2]))
        let change = try #require(batch.changes.first)
        #expect(change.before?.fields == ["x": 1])
        #expect(change.after?.fields == ["x": 1, "y": 2])
        let view = try fixture.view("c/a")
        #expect(view == change.after)
        #expect(view?.hasLocalMutations == true && view?.version.isNone == true)
        #expect(view?.largestBatchID == batch.id && change.after?.largestBatchID == batch.id)
    }

    @Test("later writes of a group see earlier ones")
    func order() throws {
        let outcomes = try fixture.local.write([
            fixture.pending([.set("c/a", ["n": 1])]),
            fixture.pending([.increment("c/a", "n", by: 1)]),
            fixture.pending([.update("c/a", ["x": 1])]),
        ])
        #expect(try outcomes.map { try $0.get().changes[0].after?.fields["n"] } == [1, 2, 2])
        #expect(try fixture.view("c/a")?.fields == ["n": 2, "x": 1])
    }

    @Test("A mutation whose precondition does not hold is queued and changes nothing")
    func skipped() throws {
        let batch = try fixture.write(.update("c/a", ["x": 1]))
        #expect(batch.changes.count == 1 && batch.changes[0].after == nil)
        #expect(try fixture.view("c/a") == nil)
        #expect(try fixture.overlay("c/a") == nil)
        #expect(try fixture.local.pendingBatches().map(\.id) == [batch.id])
        try fixture.learn("c/a", ["y": 2], at: 1)
        #expect(try fixture.view("c/a")?.fields == ["x": 1, "y": 2])
    }

    @Test("A write without effect before one with effect takes effect once its condition holds")
    func skippedBeforeOthers() throws {
        try fixture.learn("c/a", ["x": 1], at: 1)
        let skipped: MapValue = ["y": 2]
        try fixture.write(
            Mutation(
                .patch(Record(skipped), FieldMask(leavesOf: skipped)), at: DocumentPath("c/a"),
                precondition: .updateTime(SnapshotVersion(seconds: 5))))
        try fixture.write(.update("c/a", ["z": 3]))
        #expect(try fixture.view("c/a")?.fields == ["x": 1, "z": 3])
        try fixture.learn("c/a", ["x": 2], at: 5)
        #expect(try fixture.view("c/a")?.fields == ["x": 2, "y": 2, "z": 3])
    }

    @Test("Without a cached document the overlay is all of the view")
    func overlayKinds() throws {
        try fixture.write(
            Mutation(
                .patch(Record(["x": 1]), FieldMask(leavesOf: ["x": 1])), at: DocumentPath("c/a")))
        #expect(try fixture.overlay("c/a")?.operation == .set)
        try fixture.learn("c/b", ["y": 1], at: 1)
        try fixture.write(.update("c/b", ["x": 1]))
        #expect(
            try fixture.overlay("c/b")?.operation == .patch(FieldMask(leavesOf: ["x": 1])))
        try fixture.write(.delete("c/b"))
        #expect(try fixture.overlay("c/b")?.operation == .delete)
        #expect(try fixture.view("c/b")?.state == .absent)
    }

    @Test("a write beyond the limits fails alone, and leaves nothing")
    func limits() throws {
        let fixture = try LocalStoreFixture(maxDocumentBytes: 1000)
        try fixture.write(.set("c/a", ["s": .string(String(repeating: "x", count: 900))]))
        let large: MapValue = ["t": .string(String(repeating: "y", count: 200))]
        let deep = (0..<25).reduce(Value.null) { value, _ in ["a": value] }
        let outcomes = try fixture.local.write([
            fixture.pending([.set("c/b", ["x": 1]), .update("c/a", large)]),
            fixture.pending([.set("c/c", ["x": 1]), .set("c/d", ["a": deep])]),
            fixture.pending([
                .update("c/missing", ["s": .string(String(repeating: "z", count: 2000))])
            ]),
            fixture.pending([.set("c/e", ["x": 1])]),
        ])
        let conditions = outcomes.map { outcome -> LarderError.Condition? in
            if case .failure(let error) = outcome { error.condition } else { nil }
        }
        #expect(conditions == [.tooLarge, .tooDeep, .tooLarge, nil])
        for path in ["c/b", "c/c", "c/d", "c/missing"] {
            #expect(try fixture.view(path) == nil, "\(path)")
        }
        #expect(try fixture.view("c/a")?.fields.names == ["s"])
        #expect(try fixture.view("c/e")?.fields == ["x": 1])
        #expect(try fixture.local.pendingBatches().count == 2)
        #expect(try fixture.store.check().isClean)
    }

    @Test("a write whose expectation no longer holds is aborted")
    func expectations() throws {
        try fixture.write(.set("c/a", ["n": 1]))
        let seen = try fixture.view("c/a")
        let path = try DocumentPath("c/a")
        let write = fixture.pending(
            [try .set("c/a", ["n": 2])],
            expecting: [QueuedWrite.Expectation(path: path, document: seen)])
        // The second of the same expectation sees what the first has made.
        let outcomes = try fixture.local.write([write, write])
        #expect(try outcomes[0].get().changes.count == 1)
        guard case .failure(let error) = outcomes[1] else {
            Issue.record("\(outcomes[1])")
            return
        }
        #expect(error.kind == .aborted)
        #expect(try fixture.local.pendingBatches().count == 2)
    }

    @Test("A write without mutations never enters the queue")
    func empty() throws {
        let batch = try fixture.local.write([fixture.pending([])])[0].get()
        #expect(batch.id == 0 && batch.changes.isEmpty)
        #expect(try fixture.local.pendingBatches().isEmpty)
    }

    @Test("A verification and a transform of no number are refused")
    func refused() throws {
        let path = try DocumentPath("c/a")
        let outcomes = try fixture.local.write([
            fixture.pending([Mutation(.verify, at: path)]),
            fixture.pending([.increment("c/a", "n", by: "one")]),
        ])
        for outcome in outcomes {
            guard case .failure(let error) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(error.kind == .invalidArgument)
        }
        #expect(try fixture.local.pendingBatches().isEmpty)
    }

    @Test("the queue keeps what was asked for, the versions it rests on, and attempts")
    func queue() throws {
        try fixture.learn("c/a", ["x": 1], at: 3)
        let mutations = [
            try Mutation.increment("c/a", "n", by: 1), try .delete("c/b"), try .set("c/a", [:]),
        ]
        let id = try fixture.local.write([fixture.pending(mutations)])[0].get().id
        let time = Timestamp(seconds: 9, nanoseconds: 0)
        #expect(try fixture.local.recordAttempt(toSend: id, at: time, failure: "no route"))
        let batch = try #require(try fixture.local.pendingBatches().first)
        #expect(batch.mutations == mutations)
        #expect(batch.localWriteTime == Timestamp(seconds: 5, nanoseconds: 0))
        #expect(batch.attemptCount == 1 && batch.lastAttempt == time)
        #expect(batch.lastError == "no route")
        let documents = try fixture.store.read { (transaction) throws(LarderError) in
            try transaction.mutationBatch(id, of: fixture.local.user)?.documents
        }
        #expect(
            try documents == [
                TouchedDocument(
                    path: DocumentPath("c/a"), baseVersion: SnapshotVersion(seconds: 3)),
                TouchedDocument(path: DocumentPath("c/b")),
            ])
    }

    @Test("the highest pending batch is the last of the user's own")
    func highest() throws {
        #expect(try fixture.local.highestPendingBatchID() == nil)
        var ids: [Int64] = []
        for number in Int64(0)..<20 {
            ids.append(try fixture.write(.set("c/a", ["n": .integer(number)])).id)
            #expect(try fixture.local.highestPendingBatchID() == ids.last)
        }
        _ = try LocalStoreFixture.local(fixture.store, "bob")
            .write([fixture.pending([.set("c/a", [:])])])
        #expect(try fixture.local.highestPendingBatchID() == ids.last)
        _ = try fixture.local.cancel([ids[19], ids[7]])
        #expect(try fixture.local.highestPendingBatchID() == ids[18])
        for place in 0..<19 where place != 7 {
            #expect(try fixture.local.highestPendingBatchID(upTo: ids[place]) == ids[place])
        }
        #expect(try fixture.local.highestPendingBatchID(upTo: ids[7]) == ids[6])
        #expect(try fixture.local.highestPendingBatchID(upTo: ids[0] - 1) == nil)
    }

    @Test("a user's pending writes are theirs alone")
    func users() throws {
        try fixture.write(.set("c/a", ["x": 1]))
        #expect(try fixture.view("c/a", of: "bob") == nil)
        let bob = LocalStoreFixture.local(fixture.store, "bob")
        #expect(try bob.pendingBatches().isEmpty)
    }

    @Test("many mutations of one document in one batch take time in proportion")
    func manyMutations() throws {
        var write = [try Mutation.set("c/a", ["n": 0])]
        for _ in 0..<2000 { write.append(try .increment("c/a", "n", by: 1)) }
        let batch = try fixture.local.write([fixture.pending(write)])[0].get()
        #expect(batch.changes.count == 1)
        #expect(batch.changes[0].after?.fields == ["n": 2000])
    }
}
