import LarderModel
import LarderQuery
import LarderSync
import Testing

@Suite("Views: computing changes")
struct ViewsComputingTests {
    private func view(_ query: Query, _ documents: [Document] = []) throws -> View {
        var view = View(query)
        _ = view.apply(view.computeInitialChanges(documents))
        return view
    }

    @Test("A document that comes to match is added")
    func added() throws {
        var view = try view(.test("c"))
        let snapshotUpdate = try view.step([.test("c/a", ["n": 1])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["+a"])
        #expect(!snapshot.hasPendingWrites)
    }

    @Test("A document that no longer matches is removed, as it was last")
    func removed() throws {
        var view = try view(.test("c", where: .test("n", .lessThan, 5)), [.test("c/a", ["n": 1])])
        let snapshotUpdate = try view.step([.test("c/a", ["n": 7])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["-a"])
        #expect(snapshot.changes.first?.document.fields == ["n": 1])
        #expect(snapshot.documents.isEmpty && snapshot.oldDocuments.count == 1)
    }

    @Test("A document that is known not to exist, or of which nothing is known, is removed")
    func deleted() throws {
        var view = try view(.test("c"), [.test("c/a"), .test("c/b")])
        let updates = [
            LocalChange(try .absent("c/a")),
            LocalChange(path: try DocumentPath("c/b"), before: nil, after: nil),
        ]
        let changes = view.computeChanges(updates, matcher: try QueryMatcher(view.query))
        #expect(view.apply(changes).snapshot?.marks == ["-a", "-b"])
    }

    @Test("Other fields are a modification")
    func modified() throws {
        var view = try view(.test("c", by: "n"), [.test("c/a", ["n": 1]), .test("c/b", ["n": 2])])
        let snapshotUpdate = try view.step([.test("c/a", ["n": 3])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["*a"] && snapshot.ids == ["b", "a"])
        #expect(try view.step([.test("c/a", ["n": 3.0])]).snapshot?.marks == ["*a"])
    }

    @Test("A write that is taken back goes, also over one that the watch stream has not confirmed")
    func takenBack() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1], .local)])
        let committed = try Document.test("c/a", ["n": 2], .committed)
        #expect(try view.step([committed]).snapshot == nil)
        let changes = view.computeChanges(
            [
                LocalChange(
                    path: committed.path, before: nil, after: committed, revertsWrites: true)
            ],
            matcher: try QueryMatcher(view.query))
        let snapshot = try #require(view.apply(changes).snapshot)
        #expect(snapshot.marks == ["*a"] && snapshot.documents.first == committed)
    }

    @Test("Equal fields and equal pending writes are no change")
    func unchanged() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1]), .test("c/b", ["n": 1], .local)])
        #expect(try view.step([.test("c/a", ["n": 1])]).snapshot == nil)
        #expect(try view.step([.test("c/b", ["n": 1], .local)]).snapshot == nil)
    }

    @Test("Equal fields at another version are no change, but later snapshots have its times")
    func times() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1], version: 1)])
        #expect(try view.step([.test("c/a", ["n": 1], version: 2)]).snapshot == nil)
        let snapshot = try view.step([.test("c/b")]).snapshot
        #expect(snapshot?.marks == ["+b"])
        #expect(snapshot?.documents.first?.version == .test(2))
    }

    @Test("Equal fields with other pending writes are a change of metadata")
    func metadata() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1])])
        let pendingUpdate = try view.step([.test("c/a", ["n": 1], .local)])
        let pending = try #require(pendingUpdate.snapshot)
        #expect(pending.marks == ["~a"] && pending.hasPendingWrites)
        #expect(pending.documents.first?.hasLocalMutations == true)
        let syncedUpdate = try view.step([.test("c/a", ["n": 1])])
        let synced = try #require(syncedUpdate.snapshot)
        #expect(synced.marks == ["~a"] && !synced.hasPendingWrites)
    }

    @Test("A committed write is pending only in a view that saw it made")
    func committed() throws {
        var witness = try view(.test("c"), [.test("c/a", ["n": 1], .local)])
        #expect(try witness.step([.test("c/a", ["n": 1], .committed)]).snapshot == nil)
        #expect(witness.mutatedKeys.count == 1)
        #expect(try witness.step([.test("c/a", ["n": 1])]).snapshot?.marks == ["~a"])
        #expect(witness.mutatedKeys.count == 0)

        var other = try view(.test("c"), [.test("c/a", ["n": 1], .committed)])
        #expect(other.mutatedKeys.count == 0)
        #expect(try other.step([.test("c/a", ["n": 1])]).snapshot == nil)
    }

    @Test("What a write gave at the backend waits for the watch stream")
    func waiting() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1], .local)])
        #expect(try view.step([.test("c/a", ["n": 2], .committed)]).snapshot == nil)
        #expect(view.documents.first?.fields == ["n": 1])
        let snapshotUpdate = try view.step([.test("c/a", ["n": 2])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["*a"] && !snapshot.hasPendingWrites)
    }

    @Test("A later local write does not wait")
    func notWaiting() throws {
        var view = try view(.test("c"), [.test("c/a", ["n": 1], .local)])
        let snapshotUpdate = try view.step([.test("c/a", ["n": 2], .local)])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["*a"] && snapshot.hasPendingWrites)
    }

    @Test("A limit from the start keeps the first documents")
    func limitFirst() throws {
        var view = try view(
            .test("c", by: "n", limit: .first(2)),
            [.test("c/a", ["n": 1]), .test("c/c", ["n": 3])])
        let snapshotUpdate = try view.step([.test("c/b", ["n": 2]), .test("c/d", ["n": 4])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["-c", "+b"] && snapshot.ids == ["a", "b"])
    }

    @Test("A limit from the end keeps the last documents")
    func limitLast() throws {
        var view = try view(
            .test("c", by: "n", limit: .last(2)), [.test("c/a", ["n": 1]), .test("c/c", ["n": 3])])
        let snapshotUpdate = try view.step([.test("c/b", ["n": 2], .local), .test("c/0", ["n": 0])])
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.marks == ["-a", "+b"] && snapshot.ids == ["b", "c"])
        let nextUpdate = try view.step([.test("c/d", ["n": 4])])
        let next = try #require(nextUpdate.snapshot)
        #expect(next.marks == ["-b", "+d"] && !next.hasPendingWrites)
    }

    @Test("The first result keeps the limit, too", arguments: [true, false])
    func initialLimit(isFirst: Bool) throws {
        let query = try Query.test("c", by: "n", limit: isFirst ? .first(2) : .last(2))
        let view = try view(query, (0..<4).map { try .test("c/\($0)", ["n": .integer($0)]) })
        #expect(view.documents.map(\.id) == (isFirst ? ["0", "1"] : ["2", "3"]))
    }

    private func needsRefill(_ limit: Query.Limit?, _ update: Document) throws -> Bool {
        let view = try view(
            .test("c", by: "n", limit: limit),
            [.test("c/a", ["n": 1]), .test("c/b", ["n": 2]), .test("c/c", ["n": 3])])
        return view.computeChanges(
            [LocalChange(update)], matcher: try QueryMatcher(view.query)
        ).needsRefill
    }

    @Test("A removal from a full limit asks for a refill, from another not")
    func refillAfterRemoval() throws {
        #expect(try needsRefill(.first(3), .absent("c/b")))
        #expect(try needsRefill(.last(3), .absent("c/b")))
        #expect(try !needsRefill(.first(4), .absent("c/b")))
        #expect(try !needsRefill(nil, .absent("c/b")))
        #expect(try !needsRefill(.first(3), .absent("c/x")))
    }

    @Test("A document that moves beyond the edge of a full limit asks for a refill")
    func refillAfterMove() throws {
        #expect(try needsRefill(.first(3), .test("c/b", ["n": 4])))
        #expect(try !needsRefill(.first(3), .test("c/b", ["n": 0])))
        #expect(try needsRefill(.last(3), .test("c/b", ["n": 0])))
        #expect(try !needsRefill(.last(3), .test("c/b", ["n": 4])))
        #expect(try !needsRefill(.first(4), .test("c/b", ["n": 4])))
    }

    @Test("A refill fills the limit and its changes merge with those before")
    func refill() throws {
        var view = try view(
            .test("c", by: "n", limit: .first(2)),
            [.test("c/a", ["n": 1]), .test("c/b", ["n": 2])])
        let replaced = try view.step(
            [.absent("c/a")], refill: [.test("c/b", ["n": 2]), .test("c/c", ["n": 3])])
        #expect(replaced.snapshot?.marks == ["-a", "+c"])
        #expect(replaced.snapshot?.ids == ["b", "c"])
        let moved = try view.step(
            [.test("c/b", ["n": 9])], refill: [.test("c/c", ["n": 3]), .test("c/d", ["n": 4])])
        #expect(moved.snapshot?.marks == ["-b", "+d"])
        #expect(moved.snapshot?.changes.first?.document.fields == ["n": 9])
    }

    @Test("A change of an unknown document has neither side")
    func unknown() throws {
        let change = LocalChange(path: try DocumentPath("a/b"), before: nil, after: nil)
        #expect(change.before == nil && change.after == nil)
    }
}
