import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import Testing

@Suite("Views that a step leaves as they are")
struct ViewsUntouchedTests {
    private let noRefill: (Query) throws(LarderError) -> [Document] = { _ throws(LarderError) in
        Issue.record("no refill is needed")
        return []
    }

    private func version(_ seconds: Int64) -> SnapshotVersion {
        SnapshotVersion(Timestamp(unchecked: seconds, 0))
    }

    @Test("A snapshot that says nothing new of a target raises the read time of its view alone")
    func readTime() throws {
        var views = ActiveViews(onlineState: .online)
        let query = try Query.test("c")
        let added = views.addListener(1, to: query)
        let a = try Document.test("c/a")
        _ = views.load(added.view, [a], remoteKeys: [a.path], refill: noRefill)
        for seconds: Int64 in 1...3 {
            let told = View.TargetChange(
                isCurrent: true, hasResumeToken: true, readTime: version(seconds))
            let step = views.apply([], targets: [added.view: told], refill: noRefill)
            #expect(views.view(of: query)?.readTime == version(seconds))
            // The first one makes the view synced.
            #expect(seconds == 1 || step.deliveries.isEmpty)
        }
        #expect(views.view(of: query)?.isSynced == true)
        let gone = View.TargetChange(isCurrent: false, readTime: version(4))
        _ = views.apply([], targets: [added.view: gone], refill: noRefill)
        #expect(views.view(of: query)?.isSynced == false)
    }

    @Test("A document that goes from one view to another in one step stays pinned")
    func pins() throws {
        var views = ActiveViews()
        let a = try Document.test("c/a", ["n": 1])
        for number: Int64 in 1...2 {
            let query = try Query.test("c", where: .test("n", .equal, .integer(number)))
            let added = views.addListener(UInt64(number), to: query)
            _ = views.load(added.view, number == 1 ? [a] : [], refill: noRefill)
        }
        let moved = try Document.test("c/a", ["n": 2])
        let there = views.apply([try .test(a, moved)], refill: noRefill)
        #expect(there.deliveries.count == 2 && there.pinnedPaths.isEmpty)
        let back = views.apply([try .test(moved, a)], refill: noRefill)
        #expect(back.deliveries.count == 2 && back.pinnedPaths.isEmpty)
        let gone = views.apply([try .test(a, nil)], refill: noRefill)
        #expect(gone.pinnedPaths.left == [a.path] && gone.pinnedPaths.entered.isEmpty)
    }
}
