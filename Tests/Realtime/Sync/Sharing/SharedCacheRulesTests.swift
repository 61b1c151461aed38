import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Several clients of a store: cache rules")
struct SharedCacheRulesTests {
    private let world: SharedStoreWorld

    init() throws {
        world = try SharedStoreWorld()
    }

    private func paths() throws -> [String] {
        try world.store.queries().map(\.query.path.text).sorted()
    }

    @Test("rules that one client sets are obeyed by the one that keeps the cache")
    func obeyed() throws {
        let (keeper, other) = (try world.open(), try world.open())
        try keeper.connect()
        for path in ["a", "b", "c"] { try keeper.fetch(path) }
        let id = other.listen("a", as: "other")
        world.settle()
        try keeper.answerAll()
        try other.setRules(
            TreeCacheRule(.root, isNeverCached: true),
            TreeCacheRule(TreePath("c"), isPinned: true))
        world.settle()
        #expect(try paths() == ["a", "c"])
        #expect(try world.store.content(at: "b").isEmpty)
        #expect(try world.store.queries().map(\.isPinned) == [false, true])
        other.client.removeListener(id, from: QuerySpec(TreePath("a")))
        world.settle()
        #expect(try paths() == ["c"])
        keeper.evict()
        #expect(try paths() == ["c"])
        #expect(try world.store.check().isClean)
    }

    @Test("the client that takes the cache over obeys the rules that others have set")
    func successor() throws {
        let (keeper, other, third) = (try world.open(), try world.open(), try world.open())
        try keeper.connect()
        for path in ["a", "b"] { try keeper.fetch(path) }
        try third.setRules(TreeCacheRule(TreePath("a"), isNeverCached: true))
        // The keeper does not come to it.
        world.kill(keeper)
        #expect(try paths() == ["a", "b"])
        world.pass(.seconds(5))
        #expect(try paths() == ["b"])
        try other.connect()
        try other.fetch("a")
        world.settle()
        #expect(try paths() == ["b"])
        #expect(try world.store.content(at: "a").isEmpty)
        #expect(try world.store.check().isClean)
    }

    @Test("rules of a configuration replace those of the store, from any client")
    func configured() throws {
        let keeper = try world.open()
        try keeper.connect()
        try keeper.fetch("a")
        let rules = try TreeCacheRules([TreeCacheRule(TreePath("a"), isNeverCached: true)])
        let other = try world.open { $0.cacheRules = rules }
        #expect(try paths().isEmpty)
        world.close(keeper)
        world.pass(.seconds(5))
        try other.setRules(TreeCacheRules())
        try other.connect()
        try other.fetch("a")
        #expect(try paths() == ["a"])
    }
}
