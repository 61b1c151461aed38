import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite struct NetworkStateTests {
    @Test("without a backend a database is offline, and says why")
    func noBackend() async throws {
        let db = try memoryDatabase()
        #expect(db.networkState.status == .offline)
        #expect(db.networkState.reason == .noBackend)
        #expect(db.networkState.description == "offline: there is no backend")
        try await db.enableNetwork()
        try await db.disableNetwork()
        #expect(db.networkState.reason == .noBackend)
        try await db.terminate()
        #expect(db.networkState.reason == .terminated)
    }

    @Test("a database knows of its backend what it was told when it asked")
    func states() async throws {
        let world = try World()
        let db = try world.database()
        #expect(db.networkState.status == .unknown)
        #expect(db.networkState.reason == .notAsked)
        let listener = db.collection("cities").addSnapshotListener { _, _ in }
        try await db.networkState { $0.status == .online }
        #expect(db.networkState.reason == .answered)
        try await db.disableNetwork()
        #expect(db.networkState.status == .offline)
        #expect(db.networkState.reason == .disabled)
        world.network.set(.down)
        try await db.enableNetwork()
        let offline = try await db.networkState { $0.status == .offline }
        #expect(offline.description.hasPrefix("offline: the connection has failed: unavailable"))
        world.network.set(.up)
        db.reconnect()
        try await db.networkState { $0.status == .online }
        listener.remove()
        try await db.terminate()
    }

    @Test("a shared database takes a backend before its first use, and no other after it")
    func shared() async throws {
        let world = try World()
        try await world.set("cities/SF", ["size": 1])
        let db = try World().database()
        db.useBackend(world.network.connection)
        #expect(!(try await db.document("cities/SF").getDocument()).exists)
        try await db.terminate()
    }
}
