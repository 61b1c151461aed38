import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@testable import LarderRealtimeSync

@Suite("Several clients of a store: the cache")
struct SharedCacheTests {
    private let world: SharedStoreWorld

    init() throws {
        world = try SharedStoreWorld()
    }

    @Test("Data of one client's listener is there for another one, offline")
    func shared() throws {
        let (one, two) = (try world.open(), try world.open())
        one.listen("a", as: "one")
        try one.connect()
        try one.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try one.connection.answer(1)
        #expect(one.read() == ["one: value 1"])
        two.listen("a", as: "two")
        #expect(two.read() == ["two: value 1"])
    }

    @Test("The client that keeps the cache asks for what others listen to, as long as they do")
    func held() throws {
        let (one, two) = (try world.open(), try world.open())
        try one.connect()
        let id = two.listen("a", as: "two")
        world.settle()
        #expect(try one.connection.readText() == ["1 listen /a"])
        try one.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try one.connection.answer(1)
        world.settle()
        let three = try world.open()
        three.listen("a", as: "three")
        #expect(three.read() == ["three: value 1"])
        two.client.removeListener(id, from: QuerySpec(TreePath("a")))
        world.settle()
        #expect(try one.connection.readText() == [])
        world.kill(three)
        world.pass(.seconds(5))
        #expect(try one.connection.readText() == ["2 unlisten /a"])
    }

    @Test("Another client keeps the cache when the one that did has ended")
    func successor() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        try two.connect()
        try two.connection.push(.overwrite(TreePath("a"), Node(.integer(2)), tag: nil))
        try two.connection.answer(1)
        #expect(two.read() == ["two: value 2"])
        world.kill(one)
        world.pass(.seconds(5))
        try two.connection.push(.overwrite(TreePath("a"), Node(.integer(3)), tag: nil))
        world.settle()
        world.kill(two)
        let three = try world.open()
        three.listen("a", as: "three")
        #expect(three.read() == ["three: value 3"])
    }

    @Test("What a successor shows when it takes the cache over is in it")
    func successorsData() throws {
        let (one, two) = (try world.open(), try world.open())
        let window = QuerySpec(
            TreePath("s"), try QueryBuilder().limited(toLast: 1).parameters)
        two.listen("a", as: "two")
        two.listen(window, as: "window", [.value])
        try two.connect()
        let requests = try two.connection.read()
        try two.connection.push(.overwrite(TreePath("a"), Node(.integer(2)), tag: nil))
        try two.connection.push(
            .overwrite(
                TreePath("s"),
                try Node(validating: .object([JSONMember("x", .integer(1))]), at: TreePath("s")),
                tag: 1))
        for request in requests { try two.connection.answer(request.number) }
        #expect(two.read() == ["two: value 2", "window: value {\"x\":1}"])
        world.kill(one)
        world.pass(.seconds(5))
        world.kill(two)
        let three = try world.open()
        three.listen("a", as: "three")
        three.listen(window, as: "window", [.value])
        #expect(three.read() == ["three: value 2", "window: value {\"x\":1}"])
    }

    @Test("An accepted write of any client is in the cache, without a listener")
    func acceptedWrite() throws {
        let (one, two) = (try world.open(), try world.open())
        try two.connect()
        two.set("a", 1, as: "write")
        for request in try two.connection.read() { try two.connection.answer(request.number) }
        world.settle()
        #expect(two.read() == ["write made", "write acknowledged"])
        world.kill(one)
        world.kill(two)
        let three = try world.open()
        three.listen("a", as: "three")
        #expect(three.read() == ["three: value 1"])
    }

    @Test("Only the client that keeps the cache evicts")
    func eviction() throws {
        let (one, two) = (try world.open(), try world.open())
        two.evict()
        #expect(two.read() == ["evicted -1"])
        one.evict()
        #expect(one.read() == ["evicted 0"])
    }

    @Test("A client that was asleep while the journal was cleared compares everything")
    func missedEntries() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        world.suspend(two)
        one.set("a", 1, as: "first")
        try world.store.write { (transaction) throws(LarderError) in
            var state = try transaction.sharedStoreState()
            state.floor = transaction.commitNumber - 1
            try transaction.put(state)
        }
        world.resume()
        world.pass(.seconds(5))
        #expect(two.read() == ["two: value 1"])
        #expect(two.pending.count == 1)
    }

    @Test("The journal is limited while a client sleeps, the one that keeps the cache included")
    func limitedJournal() throws {
        let (one, two) = (try world.open(), try world.open())
        one.listen("a", as: "one")
        world.suspend(one)
        two.set("a", 1, as: "first")
        two.scheduler.drain()
        let log = ChangeLog(.journal, of: "9")
        for _ in 0..<StoreMembership.maxEntries {
            try world.store.write { (transaction) throws(LarderError) in
                try log.append(StoreChange().payload, to: &transaction)
            }
        }
        world.pass(.seconds(5))
        let count = try world.store.read { (transaction) throws(LarderError) in
            try transaction.namedValueNames(.journal).count
        }
        #expect(count == StoreMembership.maxEntries)
        world.resume()
        #expect(one.read() == ["one: value 1"])
        #expect(one.pending.count == 1)
    }
}
