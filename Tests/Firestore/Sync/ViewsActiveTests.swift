import HashTreeCollections
import LarderModel
import LarderQuery
import LarderSync
import Testing

/// A refill that a test does not expect.
func noRefill(_ query: Query) throws(LarderError) -> [Document] {
    throw LarderError(.internal, "an unexpected refill")
}

extension ActiveViews.Effects {
    /// Who got a snapshot with which documents, or an error: `1:a,b 2:unavailable`.
    var told: String {
        deliveries.map { delivery in
            let text: String =
                switch delivery.result {
                case .success(let snapshot): snapshot.ids.joined(separator: ",")
                case .failure(let error): "\(error.kind)"
                }
            return "\(delivery.listener):\(text)"
        }.joined(separator: " ")
    }
}

@Suite("Active views")
struct ViewsActiveTests {
    private let cache = ListenOptions(source: .cache)

    @Test("Changes that a newer result has are forgotten, those after it count")
    func missedChangesAreDiscarded() throws {
        var views = ActiveViews()
        let added = views.addListener(1, to: try .test("c"))
        _ = views.apply([try .test(nil, .test("c/evicted"))], refill: noRefill)
        views.discardMissed(added.view)
        _ = views.apply([try .test(nil, .test("c/later"))], refill: noRefill)
        #expect(views.load(added.view, [], refill: noRefill).told == "1: 1:later")
    }

    @Test("A resumed target vouches for its documents before its first snapshot")
    func resumedTargetsVouch() throws {
        let synced = try DocumentPath("c/synced")
        let documents: [Document] = [try .test("c/synced"), try .test("c/cached")]
        for options in [ListenOptions(), cache] {
            var views = ActiveViews()
            let added = views.addListener(1, to: try .test("c"), options: options)
            _ = views.load(added.view, documents, remoteKeys: [synced], refill: noRefill)
            #expect(views.isVouchedFor(synced) == (options.source == .default))
            #expect(!views.isVouchedFor(try DocumentPath("c/cached")))
        }
    }

    @Test("The first listener makes the query run, later ones are shown what is there")
    func listening() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        let first = views.addListener(1, to: query)
        #expect(first.needsLoad && first.startsRemote && first.step.told.isEmpty)
        let loaded = views.load(first.view, [try .test("c/a")], refill: noRefill)
        #expect(loaded.told == "1:a" && loaded.firesSnapshotsInSync)
        let second = views.addListener(2, to: query)
        #expect(!second.needsLoad && !second.startsRemote && second.view == first.view)
        #expect(second.step.told == "2:a" && second.step.firesSnapshotsInSync)
        guard case .success(let snapshot)? = second.step.deliveries.first?.result else { return }
        #expect(snapshot.marks == ["+a"])
    }

    @Test("A listener that comes while the query runs waits with the first")
    func listeningWhileLoading() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        let first = views.addListener(1, to: query)
        let second = views.addListener(2, to: query)
        #expect(!second.needsLoad && second.step.told.isEmpty)
        #expect(!second.step.firesSnapshotsInSync)
        #expect(views.load(first.view, [], refill: noRefill).told == "1: 2:")
    }

    @Test("Mirror queries are views of their own")
    func mirrors() throws {
        var views = ActiveViews()
        let up = try Query.test("c", by: "n", limit: .last(2))
        let down = try Query.test("c", by: "n", descending: true, limit: .first(2))
        #expect(up.target == down.target)
        let first = views.addListener(1, to: up)
        #expect(views.addListener(2, to: down).needsLoad)
        _ = views.load(first.view, [], refill: noRefill)
        #expect(views.viewCount == 2)
    }

    @Test("The remote side begins with the first listener that wants it")
    func startsRemote() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        #expect(!views.addListener(1, to: query, options: cache).startsRemote)
        let joined = views.addListener(2, to: query)
        #expect(joined.startsRemote && !joined.needsLoad)
        #expect(!views.addListener(3, to: query).startsRemote)
        #expect(!views.addListener(4, to: query, options: cache).startsRemote)
    }

    @Test("The remote side ends with the last listener that wants it, the view with the last")
    func stopsRemote() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        for id in 1...2 as ClosedRange<UInt64> { _ = views.addListener(id, to: query) }
        _ = views.addListener(3, to: query, options: cache)
        let one = views.removeListener(1)
        #expect(one?.stopsRemote == false && one?.endsView == false)
        let two = views.removeListener(2)
        #expect(two?.stopsRemote == true && two?.endsView == false)
        let three = views.removeListener(3)
        #expect(three?.stopsRemote == false && three?.endsView == true)
        #expect(views.viewCount == 0 && views.removeListener(3) == nil)
    }

    @Test("The last listener of all stops both sides")
    func stopsBoth() throws {
        var views = ActiveViews()
        _ = views.addListener(1, to: try .test("c"))
        let removed = views.removeListener(1)
        #expect(removed?.stopsRemote == true && removed?.endsView == true)
    }

    @Test("A query that ended starts again, and a late result of the former one is dropped")
    func restart() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        let old = views.addListener(1, to: query)
        _ = views.removeListener(1)
        let new = views.addListener(2, to: query)
        #expect(new.needsLoad)
        #expect(views.load(old.view, [try .test("c/old")], refill: noRefill).told.isEmpty)
        #expect(views.load(new.view, [try .test("c/new")], refill: noRefill).told == "2:new")
        #expect(views.load(new.view, [], refill: noRefill).told.isEmpty, "it has its result")
    }

    @Test("Snapshots are in sync once a step, and not when nothing was raised")
    func inSync() throws {
        var views = ActiveViews()
        for (id, query) in [(1, try Query.test("c")), (2, try .test("c", by: "n"))] {
            let added = views.addListener(UInt64(id), to: query)
            _ = views.load(added.view, [], refill: noRefill)
        }
        let document = try Document.test("c/a", ["n": 1])
        let both = views.apply([try .test(nil, document)], refill: noRefill)
        #expect(both.told == "1:a 2:a" && both.firesSnapshotsInSync)
        let same = views.apply([try .test(document, document)], refill: noRefill)
        #expect(same.told.isEmpty && !same.firesSnapshotsInSync)
        let pending = try Document.test("c/a", ["n": 1], .local)
        let metadata = views.apply([try .test(document, pending)], refill: noRefill)
        #expect(metadata.told.isEmpty && !metadata.firesSnapshotsInSync)
    }

    @Test("An error goes to all listeners of the query, which are forgotten")
    func errors() throws {
        var views = ActiveViews()
        let query = try Query.test("c")
        let added = views.addListener(1, to: query)
        _ = views.addListener(2, to: query)
        _ = views.addListener(3, to: try .test("d"))
        let failed = views.fail(added.view, LarderError(.permissionDenied, "no"))
        let denied = LarderError.Code.permissionDenied
        #expect(failed.told == "1:\(denied) 2:\(denied)" && !failed.firesSnapshotsInSync)
        #expect(views.removeListener(1) == nil && views.viewCount == 1)
        #expect(views.addListener(1, to: query).needsLoad)
    }

    @Test("Changes without former states are in the first snapshot, with all changes before them")
    func missedFromOthers() throws {
        var views = ActiveViews()
        let added = views.addListener(1, to: try .test("c"))
        let (a, b) = (try Document.test("c/a"), try Document.test("c/b"))
        _ = views.apply([try .test(nil, a)], refill: noRefill)
        _ = views.apply([try .test(nil, b)], knowsFormerStates: false, refill: noRefill)
        _ = views.apply([try .test(b, nil)], refill: noRefill)
        #expect(views.load(added.view, [], refill: noRefill).told == "1:a,b 1:a")
    }

    @Test("Changes while a query runs follow its first snapshot, whether or not it saw them")
    func missed() throws {
        var views = ActiveViews()
        let added = views.addListener(1, to: try .test("c", where: .test("n", .equal, 1)))
        let (a, b) = (try Document.test("c/a", ["n": 1]), try Document.test("c/b", ["n": 1]))
        let gone = try Document.test("c/a", ["n": 2])
        #expect(views.apply([try .test(a, gone)], refill: noRefill).told.isEmpty)
        #expect(views.apply([try .test(nil, b)], refill: noRefill).told.isEmpty)
        let c = try Document.test("c/c", ["n": 1])
        #expect(views.apply([try .test(nil, c)], refill: noRefill).told.isEmpty)
        #expect(views.apply([try .test(c, nil)], refill: noRefill).told.isEmpty)
        // The query saw the first and the third commit only.
        let step = views.load(added.view, [a, c], refill: noRefill)
        #expect(step.told == "1:a 1: 1:b 1:b,c 1:b")
        #expect(step.pinnedPaths.entered == [b.path] && step.pinnedPaths.left.isEmpty)
    }

    @Test("A limit that changes while the query runs is filled from the store")
    func missedLimit() throws {
        var views = ActiveViews()
        let added = views.addListener(1, to: try .test("c", by: "n", limit: .first(1)))
        let (a, b) = (try Document.test("c/a", ["n": 1]), try Document.test("c/b", ["n": 2]))
        _ = views.apply([try .test(a, nil)], refill: noRefill)
        var limits: [Query.Limit?] = []
        let step = views.load(added.view, [a]) { query throws(LarderError) in
            limits.append(query.limit)
            return [b]
        }
        #expect(step.told == "1:a 1:b")
        #expect(limits == [.first(2), .first(1)], "one more for the document that has changed")
    }

    @Test("A view asks for a refill once, with its query, and merges what it gets")
    func refill() throws {
        var views = ActiveViews()
        let query = try Query.test("c", by: "n", limit: .first(2))
        let documents = try (1...4).map { try Document.test("c/\($0)", ["n": .integer(Int64($0))]) }
        let added = views.addListener(1, to: query)
        _ = views.load(added.view, Array(documents.prefix(2)), refill: noRefill)
        var asked: [Query] = []
        let step = views.apply([try .test(documents[0], nil), try .test(documents[1], nil)]) {
            query throws(LarderError) in
            asked.append(query)
            return Array(documents.suffix(2))
        }
        #expect(step.told == "1:3,4" && asked == [query])
        #expect(Set(step.pinnedPaths.entered) == Set(documents.suffix(2).map(\.path)))
        #expect(Set(step.pinnedPaths.left) == Set(documents.prefix(2).map(\.path)))
    }

    @Test("A refill that fails is an error of that query alone")
    func refillFails() throws {
        var views = ActiveViews()
        let documents = [try Document.test("c/a", ["n": 1])]
        let limited = views.addListener(1, to: try .test("c", by: "n", limit: .first(1)))
        _ = views.load(limited.view, documents, refill: noRefill)
        let free = views.addListener(2, to: try .test("c"))
        _ = views.load(free.view, documents, refill: noRefill)
        let step = views.apply([try .test(documents[0], nil)]) { _ throws(LarderError) in
            throw LarderError(.dataLoss, "a damaged row")
        }
        #expect(step.told == "1:\(LarderError.Code.dataLoss) 2:")
        #expect(views.viewCount == 1)
        #expect(step.pinnedPaths.left == [documents[0].path])
    }

    @Test("Documents are pinned from the first view that has them to the last")
    func pins() throws {
        var views = ActiveViews()
        let a = try Document.test("c/a", ["n": 1])
        let one = views.addListener(1, to: try .test("c"))
        #expect(views.load(one.view, [a], refill: noRefill).pinnedPaths.entered == [a.path])
        let two = views.addListener(2, to: try .test("c", by: "n"))
        #expect(views.load(two.view, [a], refill: noRefill).pinnedPaths.isEmpty)
        #expect(views.removeListener(1)?.step.pinnedPaths.isEmpty == true)
        let moved = try Document.test("c/a", ["m": 1])
        let step = views.apply([try .test(a, moved)], refill: noRefill)
        #expect(step.pinnedPaths.left == [a.path] && step.pinnedPaths.entered.isEmpty)
        _ = views.apply([try .test(moved, a)], refill: noRefill)
        #expect(views.removeListener(2)?.step.pinnedPaths.left == [a.path])
    }

    @Test("The online state reaches views first, then listeners that waited")
    func onlineState() throws {
        var views = ActiveViews(onlineState: .unknown)
        let metadata = ListenOptions(includeMetadataChanges: true)
        let a = try Document.test("c/a")
        let synced = views.addListener(1, to: try .test("c"), options: metadata)
        _ = views.load(
            synced.view, [a], target: try View.current("c/a"), refill: noRefill)
        let empty = views.addListener(2, to: try .test("d"))
        #expect(views.load(empty.view, [], refill: noRefill).told.isEmpty)
        #expect(views.apply(.online).told.isEmpty)
        let offline = views.apply(.offline)
        #expect(offline.told == "1:a 2:" && offline.firesSnapshotsInSync)
        #expect(views.apply(.offline).told.isEmpty)
        let late = views.addListener(3, to: try .test("e"))
        #expect(views.load(late.view, [], refill: noRefill).told == "3:")
    }

    @Test("A change of a target reaches its view and shows limbo")
    func targets() throws {
        var views = ActiveViews(onlineState: .online)
        let added = views.addListener(1, to: try .test("c"))
        let (a, b) = (try Document.test("c/a"), try Document.test("c/b"))
        _ = views.load(added.view, [a, b], refill: noRefill)
        let step = views.apply([], targets: [added.view: try View.current("c/a")], refill: noRefill)
        #expect(step.told.isEmpty && step.limboChanges.count == 1)
        #expect(step.limboChanges.first?.changes == [LimboChange(b.path, isAdded: true)])
        let resolved = views.apply([try .test(b, nil)], refill: noRefill)
        guard case .success(let snapshot)? = resolved.deliveries.first?.result else {
            Issue.record("the view became synced")
            return
        }
        #expect(!snapshot.isFromCache && snapshot.marks == ["-b"])
    }
}
