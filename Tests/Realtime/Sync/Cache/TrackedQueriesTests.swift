import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeSync
import Testing

@Suite("Tracked queries")
struct TrackedQueriesTests {
    private func plain(_ path: String) -> QuerySpec { QuerySpec(TreePath(path)) }

    private func first(_ count: Int, _ path: String) throws -> QuerySpec {
        QuerySpec(TreePath(path), try QueryBuilder().limited(toFirst: count).parameters)
    }

    @Test("numbers rise, also after a restart, and changes are reported once")
    func numbers() throws {
        var queries = TrackedQueries()
        queries.activate(plain("a"), now: 1)
        queries.activate(try first(1, "a"), now: 2)
        queries.deactivate(plain("a"), now: 3)
        queries.deactivate(plain("unknown"), now: 3)
        let changed = queries.takeChanged()
        #expect(changed.map(\.id.rawValue) == [1, 2])
        #expect(changed.map(\.isActive) == [false, true])
        #expect(changed.map(\.lastUse) == [3, 2])
        #expect(queries.takeChanged().isEmpty)

        var restored = TrackedQueries(restoring: changed, now: 9)
        #expect(restored.takeChanged().map(\.lastUse) == [9])
        restored.activate(plain("b"), now: 10)
        #expect(restored[plain("b")]?.id.rawValue == 3)
    }

    @Test("a complete location makes everything below it complete, a window only itself")
    func completeness() throws {
        var queries = TrackedQueries()
        for query in [plain("a"), plain("a/b/c"), try first(1, "a/b"), plain("x")] {
            queries.activate(query, now: 0)
        }
        queries.complete(try first(1, "a/b"))
        #expect(queries.isComplete(try first(1, "a/b")))
        #expect(!queries.isComplete(try first(2, "a/b")))
        #expect(queries.completeWindows(at: TreePath("a/b")).map(\.rawValue) == [3])
        queries.completeLocation(TreePath("a"))
        #expect(queries.isComplete(try first(2, "a/b/z")))
        #expect(queries[plain("a/b/c")]?.isComplete == true)
        #expect(!queries.isLocationComplete(TreePath("x")))
        #expect(queries.completeChildren(of: .root) == [ChildKey("a")])
        queries.remove(plain("a"))
        #expect(!queries.isLocationComplete(TreePath("a/b")))
        #expect(queries.isLocationComplete(TreePath("a/b/c")))
    }

    @Test("data without a listener is noted as complete unless a location above is")
    func withoutListener() {
        var queries = TrackedQueries()
        queries.ensureComplete(TreePath("a"), now: 5)
        queries.ensureComplete(TreePath("a/b"), now: 6)
        #expect(queries.takeChanged().map(\.query) == [plain("a")])
        #expect(!queries.isLocationActive(TreePath("a")))
        queries.activate(plain("a"), now: 7)
        #expect(queries.isLocationActive(TreePath("a/b/c")))
    }

    @Test("a change of a complete location makes the windows there incomplete that it covers")
    func changes() throws {
        var queries = TrackedQueries()
        let window = try first(1, "a/b")
        queries.activate(window, now: 0)
        queries.complete(window)
        queries.changeLocation(TreePath("a"))
        #expect(queries[window]?.isComplete == true)
        // The location is complete, but no longer listened to: only the window is up to date.
        queries.ensureComplete(TreePath("a"), now: 1)
        queries.changeLocation(TreePath("a/b/c"))
        #expect(queries[window]?.isComplete == true)
        queries.deactivate(window, now: 2)
        queries.changeLocation(TreePath("x"))
        #expect(queries[window]?.isComplete == true)
        queries.changeLocation(TreePath("a/b/c"))
        #expect(queries[window]?.isComplete == false)

        queries.activate(window, now: 3)
        queries.complete(window)
        queries.activate(plain("a"), now: 3)
        queries.changeLocation(TreePath("a/b"))
        #expect(queries[window]?.isComplete == false)
        #expect(queries.completeWindows(at: TreePath("a/b")).isEmpty)
    }
}
