import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Testing

@Suite("Views: applying changes")
struct ViewsApplyingTests {
    private func loaded(_ documents: [Document], target: View.TargetChange? = nil) throws -> View {
        var view = View(try .test("c"))
        _ = view.apply(view.computeInitialChanges(documents), target: target)
        return view
    }

    @Test("The first application always gives a snapshot")
    func first() throws {
        var view = View(try .test("c"))
        #expect(view.currentSnapshot == nil)
        let snapshotUpdate = view.apply(view.computeInitialChanges([]))
        let snapshot = try #require(snapshotUpdate.snapshot)
        #expect(snapshot.isFromCache && snapshot.syncStateChanged && snapshot.documents.isEmpty)
        #expect(!snapshot.hasCachedResults)
    }

    @Test("A resume token says that there are cached results")
    func cachedResults() throws {
        var view = View(try .test("c"))
        let snapshot = view.apply(
            view.computeInitialChanges([]), target: View.TargetChange(hasResumeToken: true)
        ).snapshot
        #expect(snapshot?.hasCachedResults == true && snapshot?.isFromCache == true)
    }

    @Test("A view is synced when it is current and nothing is in limbo")
    func synced() throws {
        var view = try loaded([.test("c/a")])
        let update = try view.step(target: View.current("c/a"))
        #expect(update.snapshot?.isFromCache == false && update.snapshot?.syncStateChanged == true)
        #expect(update.snapshot?.marks == [] && update.limboChanges.isEmpty)
        #expect(try view.step(target: View.current()).snapshot == nil)
    }

    @Test("Documents that the backend has not sent are in limbo, local writes are not")
    func limbo() throws {
        var view = try loaded([.test("c/b"), .test("c/a"), .test("c/w", ["n": 1], .local)])
        let update = try view.step(target: View.current())
        #expect(
            update.limboChanges == [
                LimboChange(try DocumentPath("c/a"), isAdded: true),
                LimboChange(try DocumentPath("c/b"), isAdded: true),
            ])
        #expect(update.snapshot == nil, "still from the cache, and no document has changed")
        let resolved = try view.step(
            [.absent("c/a")], target: View.current("c/b"))
        #expect(resolved.limboChanges.map(\.isAdded) == [false, false])
        #expect(resolved.snapshot?.isFromCache == false && resolved.snapshot?.marks == ["-a"])
    }

    @Test("a committed write that its snapshot does not confirm puts the document into limbo")
    func overdueCommit() throws {
        var view = try loaded([], target: View.current())
        _ = try view.step([.test("c/a", ["n": 1], .local)])
        let acknowledged = try Document.test("c/a", ["n": 1], .committed, version: 20)
        #expect(try view.step([acknowledged]).limboChanges.isEmpty)
        let isEarlyOverdue = view.note(.test(19))
        #expect(!isEarlyOverdue, "the watch stream has not come to the commit")
        #expect(try view.step().limboChanges.isEmpty)
        let isOverdue = view.note(.test(20))
        #expect(isOverdue, "the document has been deleted meanwhile, or it would be told")
        let update = try view.step()
        #expect(update.limboChanges == [LimboChange(try DocumentPath("c/a"), isAdded: true)])
        #expect(update.snapshot?.isFromCache == true)
        let resolved = try view.step([.absent("c/a")])
        #expect(resolved.limboChanges == [LimboChange(try DocumentPath("c/a"), isAdded: false)])
        #expect(resolved.snapshot?.isFromCache == false && resolved.snapshot?.marks == ["-a"])
    }

    @Test("A limited result that lost a document by another target's snapshot waits for its own")
    func shortResult() throws {
        var view = View(try .test("c", limit: .first(1)))
        let first = view.computeInitialChanges([try .test("c/a")])
        _ = view.apply(first, target: try View.current("c/a"))
        let lost = try view.step([.absent("c/a")], refill: [])
        #expect(lost.snapshot?.isFromCache == true && lost.snapshot?.marks == ["-a"])
        var change = try View.current("c/b")
        change.removed = [try DocumentPath("c/a")]
        let told = try view.step([.test("c/b")], target: change)
        #expect(told.snapshot?.isFromCache == false && told.snapshot?.marks == ["+b"])
    }

    @Test("a full, limited result with a document moved beyond its edge waits for its own target")
    func movedBeyondTheEdge() throws {
        let query = try Query.test("c", by: "n", limit: .first(1))
        let (early, late) = (try Document.test("c/b", ["n": 0]), try Document.test("c/b", ["n": 3]))
        for isOwn in [false, true] {
            var view = View(query)
            _ = view.apply(view.computeInitialChanges([early]), target: try View.current("c/b"))
            let moved = try view.step(
                [late], target: isOwn ? View.current() : nil, refill: [late])
            #expect(moved.snapshot?.isFromCache == !isOwn && moved.snapshot?.marks == ["*b"])
            var change = try View.current("c/a")
            change.removed = [try DocumentPath("c/b")]
            let told = try view.step([.test("c/a", ["n": 2])], target: change)
            #expect(told.snapshot?.isFromCache == false && told.snapshot?.marks == ["-b", "+a"])
        }
    }

    @Test("a limited result that lost a document by a write here stays synced")
    func deletedHere() throws {
        var view = View(try .test("c", limit: .first(1)))
        let first = view.computeInitialChanges([try .test("c/a")])
        _ = view.apply(first, target: try View.current("c/a"))
        let deleted = Document(
            path: try DocumentPath("c/a"), state: .absent, record: nil, version: .none,
            createTime: nil, readTime: .none, hasLocalMutations: true,
            hasCommittedMutations: false, largestBatchID: 1, storedBytes: 0)
        let update = try view.step([deleted], refill: [])
        #expect(update.snapshot?.isFromCache == false && update.snapshot?.marks == ["-a"])
    }

    @Test("A committed write is not overdue once the document was sent or written again")
    func confirmedCommit() throws {
        var view = try loaded([], target: View.current())
        for next in [WriteState.synced, .local] {
            _ = try view.step([.test("c/a", ["n": 1], .local)])
            _ = try view.step([.test("c/a", ["n": 2], .committed, version: 20)])
            _ = try view.step([.test("c/a", ["n": 3], next)], target: View.current("c/a"))
            let isOverdue = view.note(.test(20))
            #expect(!isOverdue)
            _ = try view.step([.absent("c/a")], target: View.current())
        }
    }

    @Test("While the target is requested again, limbo stays and the view is not synced")
    func pendingReset() throws {
        var view = try loaded([.test("c/a")], target: View.current("c/a"))
        let path = try DocumentPath("c/a")
        let update = try view.step(
            target: View.TargetChange(removed: [path], isCurrent: true), isPendingReset: true)
        #expect(update.limboChanges.isEmpty && update.snapshot?.isFromCache == true)
        let after = try view.step(target: View.current())
        #expect(after.limboChanges == [LimboChange(path, isAdded: true)])
    }

    @Test("Going offline makes a synced view one from the cache, without limbo changes")
    func offline() throws {
        var view = try loaded([.test("c/a")], target: View.current("c/a"))
        #expect(view.apply(.unknown).snapshot == nil && view.apply(.online).snapshot == nil)
        let update = view.apply(.offline)
        #expect(update.snapshot?.isFromCache == true && update.snapshot?.syncStateChanged == true)
        #expect(update.limboChanges.isEmpty && !view.isCurrent)
        #expect(view.apply(.offline).snapshot == nil)
    }

    @Test("After going offline limbo keeps its content until the view is current again")
    func limboOffline() throws {
        var view = try loaded([.test("c/a")], target: View.current())
        #expect(view.limboDocuments.count == 1)
        _ = view.apply(.offline)
        #expect(try view.step([.absent("c/a"), .test("c/b")]).limboChanges.isEmpty)
        #expect(view.limboDocuments.map(\.id) == ["a"])
        let changes = try view.step(target: View.current()).limboChanges
        #expect(
            changes == [
                LimboChange(try DocumentPath("c/a"), isAdded: false),
                LimboChange(try DocumentPath("c/b"), isAdded: true),
            ])
    }

    @Test("Limbo that follows the changes is what a look at all documents gives")
    func limboIsExact() throws {
        var random = SeededRandom()
        var view = View(try .test("c", by: "n", limit: .first(12)))
        _ = view.apply(view.computeInitialChanges([]))
        for _ in 0..<600 {
            let path = "c/\(random.below(20))"
            let document =
                random.oneIn(3)
                ? try Document.absent(path)
                : try .test(
                    path, ["n": .integer(Int64(random.below(4)))],
                    random.pick([.synced, .local, .committed]))
            var target: View.TargetChange?
            if random.oneIn(2) {
                target = View.TargetChange(isCurrent: !random.oneIn(5))
                let told = try DocumentPath("c/\(random.below(20))")
                if random.oneIn(2) { target?.added = [told] } else { target?.removed = [told] }
            }
            let isPendingReset = random.oneIn(9)
            _ = try view.step([document], target: target, isPendingReset: isPendingReset)
            if view.isCurrent, !isPendingReset {
                let limbo = view.documents.filter {
                    !view.syncedDocuments.contains($0.path) && !$0.hasLocalMutations
                }
                #expect(Set(view.limboDocuments) == Set(limbo.map(\.path)), "\(random)")
            }
        }
    }
}
