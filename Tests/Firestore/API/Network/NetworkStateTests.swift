import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite struct NetworkStateTests {
    @Test("without a backend a database is offline, with the reason")
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

    @Test("the network state follows the responses to requests")
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

    @Test("the network state is known to a database that only writes")
    func writing() async throws {
        let world = try World()
        world.network.set(.down)
        let db = try world.database()
        let write = db.document("cities/SF").enqueueSetData(["size": 1])
        let offline = try await db.networkState { $0.status == .offline }
        #expect(offline.description.hasPrefix("offline: the connection has failed: unavailable"))
        world.network.set(.up)
        db.reconnect()
        try await write.acknowledged()
        #expect(db.networkState.reason == .answered)
        try await db.terminate()
    }

    @Test("a transaction waits at least a second for an unresponsive backend, and does not retry")
    func transaction() async throws {
        let world = try World()
        world.network.set(.silent)
        let db = try world.database(wait: .atMost(.zero))
        let runs = Recorder<Void>()
        let failure = await code {
            _ = try await db.runTransaction { transaction, pointer in
                runs.record(())
                do {
                    return try transaction.getDocument(db.document("cities/SF")).exists
                } catch let error as NSError {
                    pointer?.pointee = error
                    return nil
                }
            }
        }
        #expect(failure == .unavailable && runs.elements.count == 1)
        let commit = await code {
            _ = try await db.runTransaction { transaction, _ in
                runs.record(())
                transaction.setData(["size": 1], forDocument: db.document("cities/SF"))
                return nil
            }
        }
        #expect(commit == .unavailable && runs.elements.count == 2)
        try await db.terminate()
    }

    @Test("the server wait of a shared database can be set")
    func patience() async throws {
        FirebaseApp.configure(name: "patience", options: FirebaseOptions(projectID: "test"))
        let app = try #require(FirebaseApp.app(name: "patience"))
        let db = Firestore.firestore(app: app)
        let settings = db.settings
        #expect(settings.serverWait == .likeFirebase)
        settings.cacheSettings = MemoryCacheSettings()
        settings.serverWait = .atMost(.zero)
        #expect(!settings.isEqual(db.settings))
        db.settings = settings
        #expect(db.settings.serverWait == .atMost(.zero))
        settings.writeMarkerCollection = "clients"
        #expect(!settings.isEqual(db.settings))
        db.settings = settings
        #expect(db.settings.writeMarkerCollection == "clients")
        let asked = Awaited(false)
        db.useBackend(RemoteConnection(SilentRemote { asked.change { $0 = true } }))
        let listener = db.collection("towns").addSnapshotListener { _, _ in }
        await asked.wait { $0 }
        #expect(try await db.collection("towns").getDocuments().metadata.isFromCache)
        #expect(db.networkState.reason == .timedOut)
        listener.remove()
        try await db.terminate()
    }

    @Test("a shared database accepts a backend only before its first use")
    func shared() async throws {
        let world = try World()
        try await world.set("cities/SF", ["size": 1])
        let db = try World().database()
        db.useBackend(world.network.connection)
        #expect(!(try await db.document("cities/SF").getDocument()).exists)
        try await db.terminate()
    }
}
