import AppleStyleSample
import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

@Suite("Restarts")
struct RestartTests {
    /// The scores of six dinosaurs, of which a client has cached the best four.
    private func dinosaurs() throws -> DatabaseWorld {
        let world = DatabaseWorld(.disk)
        let scores = [
            ("bruhathkayosaurus", 55), ("lambeosaurus", 21), ("linhenykus", 80),
            ("pterodactyl", 93), ("stegosaurus", 5), ("triceratops", 22),
        ]
        try world.put(
            "scores", .object(scores.map { JSONMember($0.0, .integer(Int64($0.1))) }))
        let client = try world.client(named: "phone")
        let board = ScoreBoard(client.database)
        board.showTop(4)
        world.drain()
        #expect(board.lines.count == 4)
        world.close(client)
        return world
    }

    /// A client after the restart, without a connection.
    private func offline(_ world: DatabaseWorld) throws -> DatabaseUnderTest {
        let client = try world.client(named: "phone") { $0.startsOffline = true }
        world.drain()
        return client
    }

    @Test("The guide's dinosaurs: four are cached, and the query for four is complete")
    func four() throws {
        let world = try dinosaurs()
        let board = ScoreBoard(try offline(world).database)
        board.showTop(4)
        board.countTop(4)
        world.drain()
        #expect(
            board.lines == [
                "triceratops has 22", "bruhathkayosaurus has 55", "linhenykus has 80",
                "pterodactyl has 93", "4 scores",
            ])
    }

    @Test("The guide's dinosaurs: two of the four come offline, the value when connected")
    func two() throws {
        let world = try dinosaurs()
        let client = try offline(world)
        let board = ScoreBoard(client.database)
        board.showTop(2)
        board.countTop(2)
        world.drain()
        #expect(board.lines == ["linhenykus has 80", "pterodactyl has 93"])
        client.database.goOnline()
        world.drain()
        #expect(board.lines.dropFirst(2) == ["2 scores"])
    }

    @Test("The guide's dinosaurs: of six, four come offline, two and the value when connected")
    func six() throws {
        let world = try dinosaurs()
        let client = try offline(world)
        let board = ScoreBoard(client.database)
        board.showTop(6)
        board.countTop(6)
        world.drain()
        #expect(board.lines.count == 4)
        client.database.goOnline()
        world.drain()
        #expect(Set(board.lines[4..<6]) == ["stegosaurus has 5", "lambeosaurus has 21"])
        #expect(board.lines.dropFirst(6) == ["6 scores"])
    }

    @Test("Unsent writes are sent after a restart, in order and once")
    func unsentWrites() throws {
        let world = DatabaseWorld(.disk)
        let client = try world.client(named: "phone")
        client.database.goOffline()
        world.drain()
        let place = client.database.reference(withPath: "a")
        place.setValue(["x": 1])
        place.updateChildValues(["y": 2, "z/w": 3])
        place.child("x").setPriority(7)
        place.child("gone").setValue(1)
        place.child("gone").removeValue()
        world.drain()
        world.close(client)
        #expect(world.data(at: "a") == "null")

        let again = try offline(world)
        again.observe(again.database.reference(withPath: "a"), [.childAdded, .value])
        let data = #"{"x":{".priority":7,".value":1},"y":2,"z":{"w":3}}"#
        #expect(
            world.read(again) == [
                #"childAdded y 2"#, #"childAdded z {"w":3} after y"#,
                #"childAdded x {".priority":7,".value":1} after z"#, "value " + data,
            ])
        again.database.goOnline()
        #expect(world.read(again).isEmpty)
        #expect(
            world.data(at: "a") == #"{"x":{".value":1,".priority":7},"y":2,"z":{"w":3}}"#)
        world.close(again)
        try world.put("a", .integer(0))
        let third = try world.client(named: "phone")
        world.drain()
        #expect(world.data(at: "a") == "0", "nothing was sent again")
        _ = third
    }

    @Test("Children of a partly cached location come without a value")
    func partial() throws {
        let world = DatabaseWorld(.disk)
        try world.put(
            "a",
            .object([
                JSONMember("x", .integer(1)), JSONMember("y", .integer(2)),
                JSONMember("z", .integer(3)),
            ]))
        let client = try world.client(named: "phone")
        client.observe(client.database.reference(withPath: "a/x"), [.value])
        client.observe(client.database.reference(withPath: "a/z"), [.value])
        _ = world.read(client)
        world.close(client)
        let again = try offline(world)
        again.observe(again.database.reference(withPath: "a"))
        #expect(world.read(again) == ["childAdded x 1", "childAdded z 3 after x"])
        again.database.goOnline()
        #expect(
            world.read(again) == ["childAdded y 2 after x", #"value {"x":1,"y":2,"z":3}"#])
    }

    @Test("A deletion at the server while the client was away arrives on the next connection")
    func deletion() throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .object([JSONMember("x", .integer(1)), JSONMember("y", .integer(2))]))
        let client = try world.client(named: "phone")
        client.observe(client.database.reference(withPath: "a"))
        _ = world.read(client)
        world.close(client)
        try world.put("a/x", .null)
        let again = try offline(world)
        again.observe(again.database.reference(withPath: "a"))
        #expect(
            world.read(again) == [
                "childAdded x 1", "childAdded y 2 after x", #"value {"x":1,"y":2}"#,
            ])
        again.database.goOnline()
        #expect(world.read(again) == ["childRemoved x 1", #"value {"y":2}"#])
    }

    @Test("Increments of an earlier run are shown on the cached data")
    func increments() throws {
        let world = DatabaseWorld(.disk)
        try world.put("n", .integer(40))
        let client = try world.client(named: "phone")
        let counter = client.database.reference(withPath: "n")
        client.observe(counter, [.value])
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        counter.setValue(ServerValue.increment(1))
        counter.setValue(ServerValue.increment(1))
        world.drain()
        world.close(client)
        let again = try offline(world)
        again.observe(again.database.reference(withPath: "n"), [.value])
        #expect(world.read(again) == ["value 42"])
        again.database.goOnline()
        #expect(world.read(again).isEmpty)
        #expect(world.data(at: "n") == "42")
    }

    @Test("keepSynced fills the cache for the next start")
    func keepSynced() throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .object([JSONMember("x", .integer(1))]))
        let client = try world.client(named: "phone")
        client.database.reference(withPath: "a").keepSynced(true)
        world.drain()
        world.close(client)
        let again = try offline(world)
        let place = again.database.reference(withPath: "a")
        again.observe(place, [.value])
        again.observe(place.child("x"), as: "x", [.value])
        #expect(world.read(again) == [#"value {"x":1}"#, "x value 1"])
    }

    @Test("The time at which the server has confirmed the data is known after a restart")
    func freshness() async throws {
        let world = DatabaseWorld(.disk)
        try world.put("a", .object([JSONMember("x", .integer(1))]))
        let client = try world.client(named: "phone")
        let place = client.database.reference(withPath: "a")
        let unknown = await client.wait { _ in try? await place.freshness() }
        #expect(unknown?.isComplete == false && unknown?.confirmedAt == nil)
        client.observe(place, [.value])
        _ = world.read(client)
        world.advance(by: .seconds(100))
        let current = await client.wait { _ in try? await place.freshness() }
        #expect(current?.isCurrent == true && current?.confirmedAt == world.clock.timestamp)
        client.database.goOffline()
        world.drain()
        let lost = world.clock.timestamp
        world.advance(by: .seconds(100))
        world.close(client)
        let again = try offline(world)
        let child = again.database.reference(withPath: "a/x")
        let stored = await again.wait { _ in try? await child.freshness() }
        #expect(stored?.isComplete == true && stored?.isCurrent == false)
        #expect(stored?.confirmedAt == lost)
    }

    @Test("Dead letters and cancelled writes are remembered")
    func deadLetters() async throws {
        let world = DatabaseWorld(.disk) { $0.rules = { $0.operation == .write ? .deny : .allow } }
        let client = try world.client(named: "phone")
        client.database.reference(withPath: "a").enqueueSetValue(["x": 1])
        world.drain()
        world.close(client)
        let again = try offline(world)
        let letters = await again.wait { await (try? $0.deadLetters()) ?? [] }
        #expect(letters.count == 1 && letters[0].error.code == 1)
        #expect(letters[0].changes[0].ref.key == "a")
        let write = again.database.reference(withPath: "b").enqueueSetValue(1)
        world.drain()
        #expect(write.id.map { $0 > letters[0].id } == true, "numbers are not used again")
        let isCancelled = await again.wait { _ in (try? await write.cancel()) ?? false }
        #expect(isCancelled)
        world.close(again)
        let third = try offline(world)
        #expect(await third.wait { await (try? $0.pendingWrites()) ?? [] }.isEmpty)
    }

    // MARK: Transactions

    private func increment(_ test: DatabaseUnderTest) -> (MutableData) -> TransactionResult {
        { data in
            test.note("run on \(json(data.value))")
            data.value = (data.value as? Int ?? 0) + 1
            return .success(withValue: data)
        }
    }

    /// A client whose transaction on 1 was never sent, and has ended with its process.
    private func interrupted() throws -> DatabaseWorld {
        let world = DatabaseWorld(.disk)
        try world.put("n", .integer(1))
        let client = try world.client(named: "phone")
        let counter = client.database.reference(withPath: "n")
        client.observe(counter, [.value])
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        counter.runTransactionBlock(increment(client))
        #expect(world.read(client) == ["run on 1", "value 2"])
        world.close(client)
        return world
    }

    @Test("A transaction of an earlier run is shown, and committed if its data is the same")
    func transaction() async throws {
        let world = try interrupted()
        let again = try offline(world)
        again.observe(again.database.reference(withPath: "n"), [.value])
        #expect(world.read(again) == ["value 2"])
        let pending = await again.wait { await (try? $0.pendingWrites()) ?? [] }
        #expect(pending.map(\.kind) == [.transaction])
        again.database.goOnline()
        world.drain()
        #expect(world.data(at: "n") == "2")
        #expect(await again.wait { await (try? $0.pendingWrites()) ?? [] }.isEmpty)
    }

    @Test("If its data is another, it runs again once a block is registered")
    func staleTransaction() throws {
        for isEarly in [true, false] {
            let world = try interrupted()
            try world.put("n", .integer(10))
            let again = try offline(world)
            let counter = again.database.reference(withPath: "n")
            if isEarly { counter.resumeTransactions(increment(again)) }
            again.database.goOnline()
            world.drain()
            if !isEarly { counter.resumeTransactions(increment(again)) }
            #expect(world.read(again).contains("run on 10"))
            #expect(world.data(at: "n") == "11")
        }
    }

    @Test("If no block is registered in time, it becomes a dead letter")
    func abandonedTransaction() async throws {
        let world = try interrupted()
        try world.put("n", .integer(10))
        let again = try world.client(named: "phone")
        again.observe(again.database.reference(withPath: "n"), [.value])
        _ = world.read(again)
        world.advance(by: .seconds(60))
        #expect(world.data(at: "n") == "10")
        let letters = await again.wait { await (try? $0.deadLetters()) ?? [] }
        #expect(letters.count == 1 && letters[0].error.kind == .aborted)
        #expect(letters[0].changes[0].value as? Int == 2)
    }

    @Test("One that was sent and not answered becomes a dead letter: it may have been applied")
    func sentTransaction() async throws {
        let world = DatabaseWorld(.disk)
        try world.put("n", .integer(1))
        let client = try world.client(named: "phone")
        let counter = client.database.reference(withPath: "n")
        client.observe(counter, [.value])
        _ = world.read(client)
        world.backend.holdResponses(true)
        world.drain()
        counter.runTransactionBlock(increment(client), andCompletionBlock: { _, _, _ in })
        world.drain()
        world.close(client)
        world.backend.holdResponses(false)
        #expect(world.data(at: "n") == "2")
        let again = try world.client(named: "phone")
        world.drain()
        #expect(world.data(at: "n") == "2", "it is not applied twice")
        let letters = await again.wait { await (try? $0.deadLetters()) ?? [] }
        #expect(letters.count == 1)
    }

    // MARK: Tokens

    @Test("A token is kept if that is wanted, until the server refuses it")
    func tokens() async throws {
        let world = DatabaseWorld(.disk) { configuration in
            configuration.tokens = { $0 == "good" ? .valid(RealtimeUser(id: "ada")) : .expired }
        }
        let first = try world.client(named: "phone") {
            $0.keepsToken = true
            $0.tokenProvider = { _ in "good" }
        }
        first.observe(
            first.database.reference(withPath: ".info/authenticated"), [.value])
        await world.wait { first.has("value true") }
        world.close(first)
        let again = try world.client(named: "phone") {
            $0.keepsToken = true
            $0.tokenProvider = { _ in throw CancellationError() }
        }
        again.observe(
            again.database.reference(withPath: ".info/authenticated"), [.value])
        #expect(world.read(again) == ["value true"])
    }
}
