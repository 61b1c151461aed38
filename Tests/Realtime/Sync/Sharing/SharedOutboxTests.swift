import Foundation
import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("Several clients of a store: writes")
struct SharedOutboxTests {
    private let world: SharedStoreWorld

    init() throws {
        world = try SharedStoreWorld()
    }

    @Test("A write of one client is shown by the others, offline, and listed as pending")
    func shown() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        one.set("a", 1, as: "first")
        #expect(one.read() == ["first made"])
        world.settle()
        #expect(two.read() == ["two: value 1"])
        #expect(two.pending == ["/a=[\"1\"]"])
    }

    @Test("A store that was put back to when it was in use gives numbers again, and no names")
    func putBack() throws {
        let folder = try TemporaryDirectory()
        let (path, kept) = (folder.file("store"), folder.file("kept"))
        let world = try SharedStoreWorld(StoreConfiguration(directory: path))
        var names: [String] = []
        func writeAll(_ clients: [EngineUnderTest]) throws {
            for (number, client) in (clients + clients).enumerated() {
                client.set("n", Int64(number), as: "w")
                world.settle()
                for sent in try client.connection.read() {
                    if case .once(let token, _) = sent.request { names.append(token.write) }
                    try client.connection.answer(sent.number)
                }
                world.settle()
                #expect(client.pending == [])
            }
        }
        func openBoth() throws -> [EngineUnderTest] {
            let clients = [try world.open(), try world.open()]
            for client in clients { try client.connect() }
            return clients
        }
        let clients = try openBoth()
        try writeAll(clients)
        try world.store.copy(to: kept)
        try writeAll(clients)
        for _ in 0..<2 {
            try world.reopenStore {
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.copyItem(atPath: kept, toPath: path)
            }
            try writeAll(openBoth())
        }
        #expect(names.count == 16 && Set(names).count == 16)
    }

    @Test("The write that was made last is shown by all, whoever made it")
    func order() throws {
        let (one, two) = (try world.open(), try world.open())
        one.listen("a", as: "one")
        two.listen("a", as: "two")
        one.set("a", 1, as: "first")
        // The second client has not been woken, and reads what was committed before its write.
        two.set("a", 2, as: "second")
        world.settle()
        one.set("a", 3, as: "third")
        world.settle()
        #expect(
            one.read() == [
                "one: value 1", "first made", "one: value 2", "one: value 3", "third made",
            ])
        #expect(two.read() == ["two: value 1", "two: value 2", "second made", "two: value 3"])
    }

    @Test("Each client sends its own writes, and one shows its write until it is settled")
    func sent() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        try one.connect(session: "s1")
        try two.connect(session: "s2")
        #expect(try two.connection.readText() == ["1 listen /a"])
        try two.connection.answer(1)
        #expect(two.read() == ["two: value null"])
        one.set("a", 1, as: "first")
        world.settle()
        #expect(two.read() == ["two: value 1"])
        #expect(try one.connection.readText() == ["1 listen /a", "2 put /a 1"])
        try one.connection.answer(1)
        try one.connection.answer(2)
        world.settle()
        #expect(one.read() == ["first made", "first acknowledged"])
        // The second connection may still be without the data: the write stays until it is not.
        #expect(two.read() == [])
        #expect(two.pending == [])
        #expect(try two.connection.readText() == ["2 statistics"])
        try two.connection.push(.overwrite(TreePath("a"), Node(.integer(5)), tag: nil))
        try two.connection.answer(2)
        #expect(two.read() == ["two: value 5"])
    }

    @Test("A client without a connection takes accepted writes for the server's data")
    func acceptedOffline() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        try one.connect()
        one.set("a", 1, as: "first")
        world.settle()
        let requests = try one.connection.read()
        for request in requests { try one.connection.answer(request.number) }
        world.settle()
        #expect(one.read() == ["first made", "first acknowledged"])
        #expect(two.read() == ["two: value 1"])
        #expect(two.pending == [])
    }

    @Test("Writes of a client that was killed are sent by another, in order, and once")
    func killed() throws {
        let (one, two, three) = (try world.open(), try world.open(), try world.open())
        try two.connect(session: "s2")
        try three.connect(session: "s3")
        one.set("a", 1, as: "first")
        one.set("b", 2, as: "second")
        world.settle()
        world.kill(one)
        world.pass(.seconds(3))
        #expect(try puts(of: two, three) == [])
        world.pass(.seconds(2))
        #expect(try puts(of: two, three) == ["put /a 1", "put /b 2"])
        #expect(two.pending.count == 2)
        #expect(three.pending.count == 2)
    }

    @Test("Writes of a client that is closed are sent by another at once")
    func closed() throws {
        let (one, two) = (try world.open(), try world.open())
        try two.connect(session: "s2")
        one.set("a", 1, as: "first")
        world.settle()
        world.close(one)
        #expect(try puts(of: two) == ["put /a 1"])
    }

    @Test("Writes of a client that is only suspended are left to it")
    func suspended() throws {
        let (one, two) = (try world.open(), try world.open())
        try two.connect(session: "s2")
        one.set("a", 1, as: "first")
        world.settle()
        world.suspend(one)
        world.pass(.seconds(60))
        #expect(try puts(of: two) == [])
        world.resume()
        try one.connect()
        #expect(try puts(of: one) == ["put /a 1"])
    }

    @Test("A client that comes when all others have ended sends what they have left")
    func allEnded() throws {
        let (one, two) = (try world.open(), try world.open())
        one.set("a", 1, as: "first")
        two.set("b", 2, as: "second")
        world.settle()
        world.kill(one)
        world.kill(two)
        let three = try world.open()
        try three.connect()
        #expect(try puts(of: three) == ["put /a 1", "put /b 2"])
        #expect(three.pending.count == 2)
    }

    @Test("Cancelling and purging concern a client's own writes")
    func cancelling() throws {
        let (one, two) = (try world.open(), try world.open())
        one.listen("", as: "one")
        one.set("a", 1, as: "first")
        world.settle()
        two.set("b", 2, as: "second")
        world.settle()
        #expect(one.pending == ["/a=[\"1\"]", "/b=[\"2\"]"])
        two.client.purgeOutstandingWrites()
        world.settle()
        #expect(one.pending.count == 1)
        #expect(two.pending.count == 1)
        #expect(two.read() == ["second made", "second failed: cancelled"])
    }

    @Test("A refused write becomes a dead letter of all clients")
    func refused() throws {
        let (one, two) = (try world.open(), try world.open())
        two.listen("a", as: "two")
        try one.connect()
        one.set("a", 1, as: "first")
        world.settle()
        for request in try one.connection.read() {
            try one.connection.answer(request.number, .permissionDenied)
        }
        world.settle()
        #expect(two.read().first == "two: value 1")
        let dead = Box<[WriteID]>([])
        two.client.deadWrites { result in
            let ids = ((try? result.get()) ?? []).map(\.id)
            dead.withLock { $0 = ids }
        }
        two.scheduler.drain()
        let id = try #require(dead.withLock { $0.first })
        two.client.discardDeadWrite(id) { _ in }
        world.settle()
        one.client.deadWrites { result in
            let ids = ((try? result.get()) ?? []).map(\.id)
            dead.withLock { $0 = ids }
        }
        one.scheduler.drain()
        #expect(dead.withLock { $0 } == [])
    }

    @Test("A transaction of a killed client goes on in another as after a restart")
    func transaction() throws {
        let (one, two) = (try world.open(), try world.open())
        one.client.runTransaction(
            at: TreePath("a"), localEvents: true, { _ in Node(.integer(7)) }, completion: { _ in })
        world.settle()
        two.listen("a", as: "two")
        #expect(two.read() == ["two: value 7"])
        world.kill(one)
        world.pass(.seconds(5))
        try two.connect()
        let requests = try two.connection.readText()
        #expect(requests.contains { $0.contains("put /a 7 if") }, "\(requests)")
    }

    /// The puts that clients have sent since the last call.
    private func puts(of engines: EngineUnderTest...) throws -> [String] {
        try engines.flatMap { engine in
            try engine.connection.read().map(\.request.text).filter { $0.hasPrefix("put") }
        }
    }
}
