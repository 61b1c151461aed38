import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import Testing

@Suite("Reading once")
struct GetDataTests {
    private func get(_ query: DatabaseQuery, _ test: DatabaseUnderTest, as name: String = "get") {
        query.getData { error, snapshot in
            let origin = snapshot?.metadata.isFromCache == true ? " from cache" : ""
            test.note(
                name + " "
                    + (error.map { "failed \(($0 as NSError).code)" } ?? snapshot?.json ?? "")
                    + origin)
        }
    }

    @Test(
        "The server is asked, unless an observer keeps the data up to date",
        arguments: TestStorage.allCases)
    func server(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .object([JSONMember("x", .integer(1)), JSONMember("y", .integer(2))]))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        get(place, client)
        #expect(world.read(client) == [#"get {"x":1,"y":2}"#])
        get(place.queryLimited(toLast: 1), client)
        #expect(world.read(client) == [#"get {"y":2}"#])
        client.observe(place, [.value])
        _ = world.read(client)
        get(place, client)
        get(place.child("x"), client, as: "child")
        get(place.queryLimited(toFirst: 1), client, as: "first")
        #expect(client.read() == [#"get {"x":1,"y":2}"#, "child 1", #"first {"x":1}"#])
    }

    @Test("Pending writes are part of the answer", arguments: TestStorage.allCases)
    func pendingWrites(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage) { $0.rules = { _ in .allow } }
        try world.put("a", .object([JSONMember("x", .integer(1))]))
        let client = try world.client()
        world.backend.holdResponses(true)
        world.drain()
        let place = client.database.reference(withPath: "a")
        place.child("y").setValue(2)
        get(place, client)
        world.drain()
        world.backend.holdResponses(false)
        #expect(world.read(client) == [#"get {"x":1,"y":2}"#])
    }

    @Test(
        "Offline it ends after three seconds, with what is known", arguments: TestStorage.allCases)
    func offline(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        client.database.goOffline()
        world.drain()
        let place = client.database.reference(withPath: "a")
        get(place, client)
        #expect(world.read(client).isEmpty)
        world.advance(by: .seconds(3))
        #expect(world.read(client) == ["get failed 2"])
        place.setValue(1)
        get(place, client)
        #expect(world.read(client) == ["get 1 from cache"], "a write says it all")
        let local = try DatabaseUnderTest()
        get(local.database.reference(withPath: "a"), local)
        #expect(local.read() == ["get failed 2"], "there is no server to wait for")
    }

    @Test("One that a lost connection interrupts is sent again", arguments: TestStorage.allCases)
    func lostConnection(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .integer(1))
        let client = try world.client()
        world.backend.holdResponses(true)
        world.drain()
        get(client.database.reference(withPath: "a"), client)
        #expect(world.read(client).isEmpty)
        world.dropConnections()
        world.backend.holdResponses(false)
        world.advance(by: .seconds(2))
        #expect(world.read(client) == ["get 1"])
    }

    @Test(
        "A server that is connected and silent is given up like one that cannot be reached",
        arguments: TestStorage.allCases)
    func silence(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        world.backend.holdResponses(true)
        world.drain()
        let place = client.database.reference(withPath: "a")
        get(place, client)
        world.advance(by: .milliseconds(2_999))
        #expect(world.read(client).isEmpty)
        world.advance(by: .milliseconds(1))
        #expect(world.read(client) == ["get failed 2"])
        place.child("b").setValue(1)
        get(place.child("b"), client)
        #expect(world.read(client) == ["get 1 from cache"])
        world.backend.holdResponses(false)
        world.drain()
        get(place, client)
        #expect(world.read(client) == ["get {\"b\":1}"], "late answers are ignored")
    }

    @Test("A refused get is an error", arguments: TestStorage.allCases)
    func refusal(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage) { $0.rules = { $0.operation == .read ? .deny : .allow } }
        let client = try world.client()
        get(client.database.reference(withPath: "a"), client)
        #expect(world.read(client) == ["get failed 1"])
    }

    @Test("Data kept in sync is there without an observer", arguments: TestStorage.allCases)
    func keepSynced(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        place.keepSynced(true)
        place.keepSynced(true)
        world.drain()
        try world.put("a", .integer(2))
        client.database.goOffline()
        world.drain()
        client.observe(place, [.value])
        #expect(world.read(client) == ["value 2"])
        place.removeAllObservers()
        world.drain()
        get(place, client)
        #expect(client.read() == ["get 2 from cache"])
        place.keepSynced(false)
        get(place, client)
        world.advance(by: .seconds(3))
        #expect(
            client.read() == [storage == .memory ? "get failed 2" : "get 2 from cache"])
    }
}
