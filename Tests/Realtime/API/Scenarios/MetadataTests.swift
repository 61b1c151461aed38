import Foundation
import LarderRealtime
import LarderRealtimeBackend
import Testing

@Suite("The metadata of snapshots with a backend")
struct MetadataTests {
    private func note(_ snapshot: DataSnapshot, _ client: DatabaseUnderTest) {
        let origin = snapshot.metadata.isFromCache ? " from cache" : ""
        let pending = snapshot.metadata.hasPendingWrites ? " pending" : ""
        client.note("\(snapshot.json)\(origin)\(pending)")
    }

    @Test(
        "An observer of metadata learns that data is confirmed and a write acknowledged",
        arguments: TestStorage.allCases)
    func changes(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        place.observeValue(includeMetadataChanges: true) { note($0, client) }
        #expect(world.read(client) == ["1"])
        world.backend.holdResponses(true)
        place.setValue(2)
        #expect(world.read(client) == ["2 pending"])
        world.backend.holdResponses(false)
        #expect(world.read(client) == ["2"])
        client.database.goOffline()
        #expect(world.read(client).isEmpty)
        place.observeValue(includeMetadataChanges: true) { note($0, client) }
        #expect(world.read(client) == ["2 from cache"])
        client.database.goOnline()
        #expect(world.read(client) == ["2"])
    }

    @Test(
        "A query shows what an update creates where it is known to be absent, and says where it is not",
        arguments: TestStorage.allCases)
    func created(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("a/x/n", .integer(1))
        try world.put("a/y/n", .integer(2))
        let client = try world.client()
        let place = client.database.reference(withPath: "a")
        let three = place.queryOrdered(byChild: "n").queryLimited(toFirst: 3)
        let two = place.queryOrdered(byChild: "n").queryLimited(toFirst: 2)
        three.observe(.value) { client.note("3: \($0.json)") }
        two.observe(.value) { client.note("2: \($0.json)") }
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        place.updateChildValues(["z/n": 0])
        #expect(
            world.read(client) == [#"3: {"x":{"n":1},"y":{"n":2},"z":{"n":0}}"#])
        for (query, isComplete) in [(three, true), (two, false)] {
            query.getData { client.note("\($0 == nil) \($1?.metadata.isComplete as Any)") }
            world.advance(by: .seconds(3))
            #expect(world.read(client) == ["true Optional(\(isComplete))"])
        }
    }
}
