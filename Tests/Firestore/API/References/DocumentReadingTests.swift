import Foundation
import Larder
import LarderTestSupport
import Testing

/// gets with a backend.
@Suite struct DocumentReadingTests {
    @Test("a get listens at the backend until it is answered")
    func documents() async throws {
        let world = try World()
        try await world.set("cities/SF", ["name": "San Francisco"])
        let db = try world.database()
        let city = try await db.document("cities/SF").getDocument()
        #expect(city.get("name") as? String == "San Francisco")
        #expect(!city.metadata.isFromCache)
        #expect(!(try await db.document("cities/LA").getDocument()).exists)
        #expect(try await db.document("cities/SF").getDocument(source: .server).exists)
        // What was read is there without a network.
        try await db.disableNetwork()
        #expect(try await db.document("cities/SF").getDocument(source: .cache).exists)
        try await db.terminate()
    }

    @Test("a query reads from the backend")
    func queries() async throws {
        let world = try World()
        for id in ["A", "B", "C"] { try await world.set("cities/\(id)", ["size": 1]) }
        let db = try world.database()
        let all = try await db.collection("cities").getDocuments()
        #expect(all.documents.map(\.documentID) == ["A", "B", "C"])
        #expect(!all.metadata.isFromCache)
        let last = try await db.collection("cities").order(by: "size").limit(toLast: 2)
            .getDocuments(source: .server)
        #expect(last.documents.map(\.documentID) == ["B", "C"])
        try await db.terminate()
    }

    @Test("a waiting get fails when the database is terminated")
    func terminated() async throws {
        let asked = Awaited(false)
        var configuration = FirestoreConfiguration.inMemory
        configuration.backend = RemoteConnection(SilentRemote { asked.change { $0 = true } })
        configuration.serverWait = .atMost(.seconds(3600))
        let db = try Firestore(configuration: configuration)
        let query = db.collection("cities")
        let get = Task { await code { _ = try await query.getDocuments(source: .server) } }
        await asked.wait { $0 }
        try await db.terminate()
        #expect(await get.value == .failedPrecondition)
    }

    @Test("offline a get reads from the cache, and fails for unknown documents")
    func offline() async throws {
        let world = try World()
        try await world.set("cities/SF", ["name": "San Francisco"])
        let db = try world.database(wait: .atMost(.seconds(10)))
        _ = try await db.document("cities/SF").getDocument()
        _ = try await db.document("cities/LA").getDocument()
        world.network.set(.down)
        let city = try await db.document("cities/SF").getDocument()
        #expect(city.exists && city.metadata.isFromCache)
        #expect(try await db.collection("cities").getDocuments().count == 1)
        #expect(try await db.collection("towns").getDocuments().isEmpty)
        // That LA does not exist is known.
        #expect(!(try await db.document("cities/LA").getDocument()).exists)
        #expect(await code { _ = try await db.document("cities/NY").getDocument() } == .unavailable)
        for path in ["cities/SF", "cities/LA"] {
            let failure = await code {
                _ = try await db.document(path).getDocument(source: .server)
            }
            #expect(failure == .unavailable)
        }
        let failure = await code {
            _ = try await db.collection("cities").getDocuments(source: .server)
        }
        #expect(failure == .unavailable)
        try await db.terminate()
    }

    @Test("a document that a pending write deletes is known not to exist")
    func pendingDelete() async throws {
        let world = try World()
        world.network.set(.down)
        let db = try world.database()
        db.document("cities/SF").enqueueDelete()
        let city = try await db.document("cities/SF").getDocument()
        #expect(!city.exists && city.metadata.hasPendingWrites && city.metadata.isFromCache)
        try await db.terminate()
    }

    @Test("without a server wait the cache answers immediately")
    func impatient() async throws {
        let world = try World()
        world.network.set(.silent)
        let db = try world.database(wait: .atMost(.zero))
        let listener = db.collection("towns").addSnapshotListener { _, _ in }
        db.document("cities/SF").enqueueSetData(["name": "San Francisco"])
        #expect(try await db.document("cities/SF").getDocument().exists)
        #expect(try await db.collection("towns").getDocuments().isEmpty)
        #expect(db.networkState.reason == .timedOut)
        listener.remove()
        try await db.terminate()
    }

    @Test("a listener receives the cache's results, then the backend's, then others' writes")
    func listening() async throws {
        let world = try World()
        try await world.set("cities/SF", ["size": 1])
        let db = try world.database()
        var sizes: [Int] = []
        for try await snapshot in db.document("cities/SF").snapshots {
            let size = snapshot.get("size") as? Int ?? 0
            sizes.append(size)
            if size == 3 { break }
            try await world.set("cities/SF", ["size": .integer(Int64(size) + 1)])
        }
        #expect(sizes == [1, 2, 3])
        try await db.terminate()
    }

    @Test("aggregations come from the server, or fail offline")
    func aggregates() async throws {
        let world = try World()
        for id in ["A", "B", "C"] { try await world.set("cities/\(id)", ["size": 1]) }
        let db = try world.database()
        let count = db.collection("cities").count
        #expect(try await count.getAggregation(source: .server).count == 3)
        #expect(try await count.getAggregation(source: .cache).count == 0)
        world.network.set(.down)
        #expect(
            await code { _ = try await count.getAggregation(source: .server) } == .unavailable)
        try await db.disableNetwork()
        #expect(
            await code { _ = try await count.getAggregation(source: .server) } == .unavailable)
        try await db.terminate()
    }
}
