import AppleStyleSample
import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import Testing

@Suite("Presence")
struct PresenceTests {
    @Test(
        "Operations for the end of the connection are performed by the server, and shown at once",
        arguments: TestStorage.allCases)
    func operations(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put(
            "p",
            .object([
                JSONMember("set", .integer(0)), JSONMember("removed", .integer(0)),
                JSONMember("updated", .object([JSONMember("x", .integer(0))])),
                JSONMember("kept", .integer(0)),
            ]))
        let (client, reader) = (try world.client(), try world.client())
        let place = client.database.reference(withPath: "p")
        client.observe(place, as: "own", [.value])
        reader.observe(reader.database.reference(withPath: "p"), as: "other", [.value])
        _ = (world.read(client), world.read(reader))
        place.child("set").onDisconnectSetValue(
            1, andPriority: 2, withCompletionBlock: client.completion("set"))
        place.child("removed").onDisconnectRemoveValue(
            completionBlock: client.completion("remove"))
        place.child("updated").onDisconnectUpdateChildValues(
            ["y/z": ServerValue.increment(3)], withCompletionBlock: client.completion("update"))
        place.child("kept").onDisconnectSetValue(1)
        place.child("kept").cancelDisconnectOperations(
            completionBlock: client.completion("cancel"))
        place.onDisconnectUpdateChildValues([:], withCompletionBlock: client.completion("nothing"))
        #expect(
            world.read(client) == [
                "nothing done", "set done", "remove done", "update done", "cancel done",
            ])
        client.database.goOffline()
        let result =
            #"value {"kept":0,"set":{".priority":2,".value":1},"updated":{"x":0,"y":{"z":3}}}"#
        #expect(world.read(client).last == "own " + result)
        #expect(world.read(reader).last == "other " + result)
    }

    @Test(
        "They are performed once, also when the connection breaks", arguments: TestStorage.allCases)
    func once(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let place = client.database.reference(withPath: "status")
        place.setValue("on")
        place.onDisconnectSetValue("off")
        world.drain()
        world.dropConnections()
        #expect(world.data(at: "status") == #""off""#)
        world.advance(by: .seconds(2))
        place.setValue("on")
        world.drain()
        world.dropConnections()
        #expect(world.data(at: "status") == #""on""#, "it was not armed again")
    }

    @Test(
        "The recipe leaves no ghost, and the time when the user was seen last",
        arguments: TestStorage.allCases)
    func recipe(_ storage: TestStorage) async throws {
        for usesTokens in [false, true] {
            let world = DatabaseWorld(storage)
            let client = try world.client {
                if usesTokens { $0.tokenProvider = { _ in "morgan" } }
            }
            let board = ScoreBoard(client.database)
            board.bePresent()
            board.followConnection()
            await world.wait { board.isConnected }
            world.drain()
            #expect(world.data(at: "users/morgan/connections").contains("true"))
            world.dropConnections()
            #expect(world.data(at: "users/morgan/connections") == "null")
            #expect(world.data(at: "users/morgan/lastOnline") == "1700000000000")
            world.advance(by: .seconds(2))
            await world.wait { board.isConnected }
            #expect(world.data(at: "users/morgan/connections").contains("true"), "armed again")
        }
    }

    @Test(
        "Operations armed before a write reach the server before it, also while connecting",
        arguments: TestStorage.allCases)
    func order(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        client.database.goOffline()
        world.drain()
        let place = client.database.reference(withPath: "a")
        place.onDisconnectSetValue("gone")
        place.setValue("here")
        client.database.goOnline()
        world.drain()
        #expect(world.data(at: "a") == #""here""#)
        world.dropConnections()
        #expect(world.data(at: "a") == #""gone""#)
    }

    @Test("A refused operation is reported", arguments: TestStorage.allCases)
    func refusal(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage) {
            $0.rules = { $0.operation == .write ? .deny : .allow }
        }
        let client = try world.client()
        client.database.reference(withPath: "a").onDisconnectSetValue(
            1, withCompletionBlock: client.completion("arm"))
        #expect(world.read(client) == ["arm failed 1"])
    }

    @Test("The guide's lines do what it says", arguments: TestStorage.allCases)
    func guide(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let board = ScoreBoard(client.database)
        board.followClock()
        world.drain()
        #expect(board.skew == 0)
        board.leaveMessage()
        board.leaveTime()
        world.drain()
        world.advance(by: .seconds(60))
        client.database.goOffline()
        #expect(world.data(at: "farewell") == "null")
        #expect(world.data(at: "users/morgan/lastOnline") == "1700000060000")
        #expect(board.lines.isEmpty)
    }
}
