import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("The engine and its disk")
struct DatabaseDiskTests {
    /// A disk that can be full.
    private final class Disk: Sendable {
        let isFull = Box(false)

        func check() throws(LarderError) {
            if isFull.withLock({ $0 }) {
                throw LarderError(realtime: .resourceExhausted, "the disk is full")
            }
        }
    }

    private func engine(
        _ storage: StoreConfiguration = .inMemory(), mergesWrites: Bool = false
    ) throws -> (EngineUnderTest, Disk) {
        let disk = Disk()
        let engine = try EngineUnderTest(storage) { configuration in
            configuration.mergesOverwrittenWrites = mergesWrites
            configuration.guarding = { () throws(LarderError) in try disk.check() }
        }
        return (engine, disk)
    }

    @Test("A write that the disk refuses is not made, and nothing of it stays")
    func refusedWrite() throws {
        let (engine, disk) = try engine()
        engine.listen("a", as: "a")
        engine.write(.overwrite(TreePath("a"), Node(.integer(1))), as: "first")
        #expect(engine.read() == ["a: value 1", "first made"])
        disk.isFull.withLock { $0 = true }
        engine.write(.overwrite(TreePath("a"), Node(.integer(2))), as: "second")
        #expect(engine.read() == ["a: value 2", "a: value 1", "second failed: resourceExhausted"])
        disk.isFull.withLock { $0 = false }
        engine.write(.overwrite(TreePath("a"), Node(.integer(3))), as: "third")
        #expect(engine.read() == ["a: value 3", "third made"])
        engine.advance(by: .seconds(10))
        try engine.connect()
        #expect(
            try engine.connection.readText() == ["1 listen /a", "2 put /a 1", "3 put /a 3"])
    }

    @Test("A write that the disk refuses replaces none, which is sent in its place of the order")
    func refusedReplacement() throws {
        let (engine, disk) = try engine(mergesWrites: true)
        engine.write(.overwrite(TreePath("a"), Node(.integer(1))), as: "first")
        disk.isFull.withLock { $0 = true }
        engine.write(.overwrite(TreePath("a"), Node(.integer(2))), as: "second")
        #expect(engine.read() == ["first made", "second failed: resourceExhausted"])
        disk.isFull.withLock { $0 = false }
        engine.write(.overwrite(TreePath("b"), Node(.integer(3))), as: "third")
        engine.advance(by: .seconds(10))
        try engine.connect()
        #expect(try engine.connection.readText() == ["1 put /a 1", "2 put /b 3"])
        try engine.connection.answer(1)
        #expect(engine.read() == ["third made", "first acknowledged"])
    }

    @Test("A write and the one that it replaces are cancelled together")
    func purgedReplacement() throws {
        let (engine, _) = try engine(mergesWrites: true)
        engine.write(.overwrite(TreePath("a"), Node(.integer(1))), as: "first")
        engine.client.purgeOutstandingWrites()
        engine.write(.overwrite(TreePath("a"), Node(.integer(2))), as: "second")
        #expect(engine.read() == ["first made", "first failed: cancelled", "second made"])
        // Within the turn in which the second replaces it, the first has no request.
        let log = Box<[String]>([])
        for name in ["third", "fourth"] {
            engine.client.write(
                .overwrite(TreePath("a"), Node(.string(name))), committed: { _ in },
                acknowledged: { result in
                    log.withLock { $0.append(name + " " + result.text("acknowledged")) }
                })
        }
        engine.client.purgeOutstandingWrites()
        #expect(engine.read() == ["second failed: cancelled"])
        #expect(log.withLock { $0 } == ["fourth failed: cancelled", "third failed: cancelled"])
    }

    @Test("The list of pending writes leaves out a write that is replaced in the same turn")
    func listedReplacement() throws {
        let (engine, _) = try engine(mergesWrites: true)
        let log = Box<[WriteID]>([])
        for number in 1...2 {
            engine.client.write(
                .overwrite(TreePath("a"), Node(.integer(Int64(number)))), committed: { _ in },
                acknowledged: { _ in })
        }
        engine.client.pendingWrites { result in
            log.withLock { $0 = (try? result.get().map(\.id)) ?? [] }
        }
        engine.scheduler.drain()
        #expect(log.withLock { $0 } == [WriteID(2)])
    }

    @Test("What the server has said is committed later; meanwhile the network is not used")
    func refusedServerData() throws {
        let directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.mapBytes = StoreConfiguration.modestMapBytes
        let (engine, disk) = try engine(storage)
        try engine.connect()
        engine.listen("a", as: "a")
        disk.isFull.withLock { $0 = true }
        try engine.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try engine.connection.answer(1)
        #expect(engine.read() == ["a: value 1"])
        #expect(try engine.connection.isClosed)
        engine.advance(by: .seconds(5))
        #expect(engine.server.connections.count == 1, "the disk is still full")
        disk.isFull.withLock { $0 = false }
        engine.advance(by: .seconds(5))
        try engine.connect(session: "s2")
        engine.client.terminate { _ in }
        engine.scheduler.drain()

        let again = try EngineUnderTest(storage, isLocal: true)
        again.listen("a", as: "a")
        #expect(again.read() == ["a: value 1"])
    }

    @Test("Calls to end a client that is ending complete after the first")
    func endsOnce() throws {
        let (engine, _) = try engine()
        let ends = Box<[String]>([])
        let client = engine.client
        let end: @Sendable (String) -> Void = { name in
            client.terminate { _ in ends.withLock { $0.append(name) } }
        }
        // The end commits the write, and completes it as not acknowledged.
        client.write(
            .overwrite(TreePath("a"), Node(.integer(1))), committed: { _ in end("at the commit") },
            acknowledged: { _ in end("at the acknowledgement") })
        end("first")
        engine.scheduler.drain()
        #expect(ends.withLock { $0 } == ["first", "at the commit", "at the acknowledgement"])
        end("later")
        engine.scheduler.drain()
        #expect(ends.withLock { $0 }.last == "later")
    }

    @Test("All requests of a turn share a commit")
    func groupCommit() throws {
        let commits = Box(0)
        let engine = try EngineUnderTest(.inMemory()) { configuration in
            configuration.guarding = { commits.withLock { $0 += 1 } }
        }
        commits.withLock { $0 = 0 }
        for number in 0..<500 {
            engine.client.write(
                .overwrite(TreePath("a/\(number)"), Node(.integer(1))), committed: { _ in },
                acknowledged: { _ in })
        }
        engine.scheduler.drain()
        #expect(commits.withLock { $0 } == 1)
    }

    @Test("A listener of cached data does not wait for a commit; one of new data does")
    func eventsAndCommits() throws {
        let order = Box<[String]>([])
        let engine = try EngineUnderTest(.inMemory()) { configuration in
            configuration.guarding = { order.withLock { $0.append("commit") } }
        }
        func listen(_ number: UInt) {
            let listener = Listener(ListenerID(number), [.value])
            engine.client.listen(to: QuerySpec(TreePath("a")), listener) { _ in
                order.withLock { $0.append("event") }
            }
            engine.scheduler.drain()
        }
        try engine.connect()
        listen(1)
        order.withLock { $0 = [] }
        try engine.connection.push(.overwrite(TreePath("a"), Node(.integer(1)), tag: nil))
        try engine.connection.answer(1)
        engine.scheduler.drain()
        #expect(order.withLock { $0.prefix(2) } == ["commit", "event"])
        engine.client.removeListener(ListenerID(1), from: QuerySpec(TreePath("a")))
        engine.scheduler.drain()
        order.withLock { $0 = [] }
        listen(2)
        #expect(order.withLock { $0 } == ["event", "commit"])
    }

    @Test("Data that no store can keep costs itself only")
    func unstorableData() throws {
        let (engine, _) = try engine()
        try engine.connect()
        engine.listen("a", as: "a")
        let key = ChildKey(String(repeating: "k", count: 5_000))
        try engine.connection.push(
            .overwrite(TreePath("a").child(key), Node(.integer(1)), tag: nil))
        try engine.connection.answer(1)
        _ = engine.read()
        engine.write(.overwrite(TreePath("b"), Node(.integer(1))), as: "b")
        #expect(engine.read() == ["b made"])
        #expect(try !engine.connection.isClosed)
    }

    @Test("What was evicted is asked for again")
    func eviction() throws {
        let (engine, _) = try engine()
        try engine.connect()
        let id = engine.listen("a", as: "a")
        try engine.connection.push(
            .overwrite(TreePath("a"), Node(.string("x")), tag: nil))
        try engine.connection.answer(1)
        engine.listen("b", as: "b")
        try engine.connection.push(.overwrite(TreePath("b"), Node(.string("y")), tag: nil))
        try engine.connection.answer(2)
        engine.client.removeListener(id, from: QuerySpec(TreePath("a")))
        _ = engine.read()
        engine.client.goOffline()
        engine.evict()
        engine.listen("a", as: "a")
        engine.listen("b", as: "b again")
        #expect(engine.read() == ["evicted 1", "b again: value \"y\""])
    }

    @Test("Ten thousand writes that wait are shown and queued after a restart")
    func manyWrites() throws {
        let directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.mapBytes = StoreConfiguration.modestMapBytes
        let engine = try EngineUnderTest(storage, isLocal: true)
        for number in 0..<10_000 {
            engine.client.write(
                .overwrite(TreePath("a/\(number)"), Node(.integer(Int64(number)))),
                committed: { _ in }, acknowledged: { _ in })
        }
        engine.scheduler.drain()
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        let again = try EngineUnderTest(storage)
        again.get(QuerySpec(TreePath("a/9999")))
        #expect(again.read() == ["get: 9999 from cache"])
        try again.connect()
        #expect(try again.connection.read().count == 1_000, "the window of the outbox")
    }
}
