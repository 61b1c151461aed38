import Foundation
import LarderCore
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

@testable import LarderRealtime

@Suite("Clients and a backend")
struct SynchronizationTests {
    @Test("What one client writes, another observes", arguments: TestStorage.allCases)
    func twoClients(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let (writer, reader) = (try world.client(), try world.client())
        let scores = reader.database.reference(withPath: "scores")
        reader.observe(scores.queryOrderedByValue())
        #expect(world.read(reader) == ["value null"])
        writer.database.reference(withPath: "scores").setValue(
            ["a": 2, "b": 1], withCompletionBlock: writer.completion("set"))
        #expect(world.read(writer) == ["set done"])
        #expect(
            world.read(reader) == [
                "childAdded b 1", "childAdded a 2 after b", #"value {"a":2,"b":1}"#,
            ])
        writer.database.reference(withPath: "scores/b").setValue(3)
        #expect(
            world.read(reader) == [
                "childMoved b 3 after a", "childChanged b 3 after a", #"value {"a":2,"b":3}"#,
            ])
    }

    @Test("A window is refilled when its children leave or move", arguments: TestStorage.allCases)
    func windows(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("s", .object((1...6).map { JSONMember("k\($0)", .integer(Int64($0))) }))
        let (writer, reader) = (try world.client(), try world.client())
        let top = reader.database.reference(withPath: "s").queryOrderedByValue()
            .queryLimited(toLast: 2)
        reader.observe(top, [.childAdded, .childRemoved, .value])
        #expect(
            world.read(reader) == [
                "childAdded k5 5", "childAdded k6 6 after k5", #"value {"k5":5,"k6":6}"#,
            ])
        let all = writer.database.reference(withPath: "s")
        all.child("k6").removeValue()
        #expect(
            world.read(reader) == [
                "childRemoved k6 6", "childAdded k4 4", #"value {"k4":4,"k5":5}"#,
            ])
        all.child("k1").setValue(10)
        #expect(
            world.read(reader) == [
                "childRemoved k4 4", "childAdded k1 10 after k5", #"value {"k1":10,"k5":5}"#,
            ])
    }

    @Test(
        "Offline writes are shown at once, and sent in order on the next connection",
        arguments: TestStorage.allCases)
    func offline(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        client.observe(place, [.value])
        #expect(world.read(client) == ["value null"])
        client.database.goOffline()
        world.drain()
        place.setValue(1, withCompletionBlock: client.completion("first"))
        place.setValue(["x": 1], withCompletionBlock: client.completion("second"))
        place.child("y").setValue(2, withCompletionBlock: client.completion("third"))
        #expect(
            world.read(client) == [
                "value 1", #"value {"x":1}"#, #"value {"x":1,"y":2}"#,
            ])
        #expect(world.data(at: "a") == "null")
        client.database.goOnline()
        #expect(world.read(client) == ["first done", "second done", "third done"])
        #expect(world.data(at: "a") == #"{"x":1,"y":2}"#)
    }

    @Test(
        "A write of another client while offline arrives on the next connection",
        arguments: TestStorage.allCases)
    func missedWrites(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .object([JSONMember("x", .integer(1)), JSONMember("y", .integer(2))]))
        let client = try world.client()
        client.observe(client.database.reference(withPath: "a"))
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        try world.put("a", .object([JSONMember("y", .integer(3))]))
        #expect(world.read(client).isEmpty)
        client.database.goOnline()
        #expect(
            world.read(client) == ["childRemoved x 1", "childChanged y 3", #"value {"y":3}"#])
    }

    @Test(
        "A write the rules forbid is reverted, reported, and a dead letter",
        arguments: TestStorage.allCases)
    func refusedWrites(_ storage: TestStorage) async throws {
        let world = DatabaseWorld(storage) { configuration in
            configuration.rules = { $0.operation == .write ? .deny : .allow }
        }
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        client.observe(place, [.value])
        _ = world.read(client)
        place.setValue(1, withCompletionBlock: client.completion("set"))
        #expect(world.read(client) == ["value 1", "value null", "set failed 1"])
        place.enqueueSetValue(["x": [".sv": "timestamp"]])
        _ = world.read(client)
        let letters = await client.wait { database in await (try? database.deadLetters()) ?? [] }
        #expect(letters.count == 2 && letters[0].error.code == 1)
        #expect(letters[0].changes.map(\.ref) == [place])
        #expect(json(letters[1].changes[0].value) == #"{"x":{".sv":"timestamp"}}"#)
        world.backend.setRules { _ in .allow }
        let write = await client.wait { database in
            try? await database.retryDeadLetter(letters[0].id)
        }
        #expect(write != nil)
        #expect(world.data(at: "a") == "1")
        let discarded = await client.wait { database in
            try? await database.discardDeadLetter(letters[1].id)
        }
        #expect(discarded == true)
        #expect(await client.wait { database in await (try? database.deadLetters()) ?? [] }.isEmpty)
    }

    @Test("A listen the rules forbid cancels its observers", arguments: TestStorage.allCases)
    func refusedListens(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage) { configuration in
            configuration.rules = { $0.path.hasPrefix("/secret") ? .deny : .allow }
        }
        let client = try world.client()
        client.observe(client.database.reference(withPath: "secret/a"), as: "secret", [.value])
        client.observe(client.database.reference(withPath: "open"), as: "open", [.value])
        #expect(world.read(client).sorted() == ["open value null", "secret cancelled 1"])
        world.backend.setRules { $0.path.hasPrefix("/open") ? .deny : .allow }
        #expect(world.read(client) == ["open cancelled 1"])
    }

    @Test("Server values are estimated, then the server's", arguments: TestStorage.allCases)
    func serverValues(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(5))
        let client = try world.client()
        let counter = client.database.reference(withPath: "n")
        client.observe(counter, [.value])
        _ = world.read(client)
        counter.setValue(ServerValue.increment(2))
        #expect(world.read(client) == ["value 7"])
        client.database.goOffline()
        world.drain()
        counter.setValue(ServerValue.increment(1))
        counter.setValue(ServerValue.increment(1))
        #expect(world.read(client) == ["value 8", "value 9"])
        try world.put("n", .integer(100))
        client.database.goOnline()
        #expect(world.read(client).last == "value 102")
        #expect(world.data(at: "n") == "102")
    }

    @Test(
        "Updates change several places at once; deep keys and priorities count",
        arguments: TestStorage.allCases)
    func updates(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        client.observe(place, [.value])
        _ = world.read(client)
        place.updateChildValues(
            ["x/y": 1, "z": ["w": true], "z2/.priority": 3, "z2/v": 4],
            withCompletionBlock: client.completion("update"))
        #expect(world.read(client).last == "update done")
        #expect(
            world.data(at: "a")
                == #"{"x":{"y":1},"z":{"w":true},"z2":{"v":4,".priority":3}}"#)
        place.updateChildValues(
            ["x": 1, "x/y": 2], withCompletionBlock: client.completion("ancestor"))
        place.updateChildValues([:], withCompletionBlock: client.completion("nothing"))
        #expect(world.read(client) == ["ancestor failed 9999", "nothing done"])
    }

    @Test(
        "A lost connection costs nothing: everything is sent again", arguments: TestStorage.allCases
    )
    func lostConnection(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        client.observe(client.database.reference(withPath: ".info/connected"), as: "on", [.value])
        let place = client.database.reference(withPath: "a")
        client.observe(place, [.value])
        #expect(world.read(client).contains("on value true"))
        world.backend.holdResponses(true)
        world.drain()
        place.setValue(1, withCompletionBlock: client.completion("set"))
        #expect(world.read(client) == ["value 1"])
        world.dropConnections()
        world.backend.holdResponses(false)
        #expect(world.read(client) == ["on value false"])
        world.advance(by: .seconds(2))
        #expect(world.read(client) == ["on value true", "set done"])
    }

    @Test("A token that expires costs no write", arguments: TestStorage.allCases)
    func expiredTokens(_ storage: TestStorage) async throws {
        let valid = Box("first")
        let world = DatabaseWorld(storage) { configuration in
            configuration.tokens = { token in
                token == valid.withLock { $0 } ? .valid(RealtimeUser(id: "ada")) : .expired
            }
            configuration.rules = { $0.user == nil ? .deny : .allow }
        }
        let client = try world.client {
            $0.tokenProvider = { isForced in isForced ? valid.withLock { $0 } : "first" }
        }
        let place = client.database.reference(withPath: "a")
        place.enqueueSetValue(1).report(place, to: client.completion("first"))
        client.observe(place, [.value])
        await world.wait { client.has("first done") }
        valid.withLock { $0 = "second" }
        world.backend.expireTokens()
        world.drain()
        place.enqueueSetValue(2).report(place, to: client.completion("second"))
        world.advance(by: .seconds(2))
        await world.wait { client.has("second done") }
        #expect(world.read(client).contains("value 2"))
        #expect(world.data(at: "a") == "2")
        #expect(await client.wait { await (try? $0.deadLetters()) ?? [] }.isEmpty)
    }

    @Test(
        "Outstanding writes are cancelled in order, and their effects reverted",
        arguments: TestStorage.allCases)
    func purge(_ storage: TestStorage) async throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .string("old"))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        client.observe(place, [.value])
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        for number in 1...4 {
            place.setValue(number, withCompletionBlock: client.completion("set \(number)"))
        }
        place.onDisconnectSetValue(0, withCompletionBlock: client.completion("arm"))
        _ = world.read(client)
        client.database.purgeOutstandingWrites()
        #expect(
            world.read(client) == [
                #"value "old""#, "set 1 failed 3", "set 2 failed 3", "set 3 failed 3",
                "set 4 failed 3", "arm failed 3",
            ])
        #expect(
            await client.wait { database in await (try? database.pendingWrites()) ?? [] }.isEmpty)
        client.database.goOnline()
        #expect(world.data(at: "a") == #""old""#)
    }

    @Test(
        "Overwritten writes are merged only if that is wanted, and only if they may be",
        arguments: TestStorage.allCases)
    func merging(_ storage: TestStorage) async throws {
        for isWanted in [true, false] {
            let world = DatabaseWorld(storage)
            let client = try world.client { $0.mergesOverwrittenWrites = isWanted }
            client.database.goOffline()
            world.drain()
            let place = client.database.reference(withPath: "a")
            for number in 1...3 {
                place.setValue(number, withCompletionBlock: client.completion("\(number)"))
            }
            place.enqueueSetValue(ServerValue.increment(1))
            client.database.reference(withPath: "b").enqueueSetValue(1)
            place.enqueueSetValue(9)
            let pending = await client.wait { database in
                await (try? database.pendingWrites()) ?? []
            }
            #expect(pending.count == (isWanted ? 4 : 6))
            #expect(
                pending.map(\.description).suffix(2) == [
                    "pending write \(pending[pending.count - 2].id) of "
                        + "\(pending[pending.count - 2].writeTime): set /b",
                    "pending write \(pending[pending.count - 1].id) of "
                        + "\(pending[pending.count - 1].writeTime): set /a",
                ])
            client.observe(place, [.value])
            #expect(client.read() == ["value 9"])
            client.database.goOnline()
            #expect(world.read(client) == ["1 done", "2 done", "3 done"])
            #expect(world.data(at: "a") == "9")
        }
    }
}
