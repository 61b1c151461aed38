import Foundation
import Larder
import LarderModel
import LarderTestSupport
import Testing

@Suite struct SnapshotMetadataTests {
    @Test("results have the backend's last read time, from the cache and from the server")
    func query() async throws {
        let world = try World()
        let version = try await world.set("cities/SF", ["n": 1])
        let db = try world.database(wait: .atMost(.seconds(10)))
        let cities = db.collection("cities")
        let never = try await cities.getDocuments(source: .cache).metadata.freshness
        #expect(never.source == .cache && never.readTime == nil && !never.isComplete)

        let fresh = try await cities.getDocuments().metadata.freshness
        #expect(fresh.source == .server && fresh.isComplete && fresh.pendingDocumentCount == 0)
        let readTime = try #require(fresh.readTime)
        #expect(readTime >= version.timestamp)

        world.network.set(.down)
        db.document("cities/LA").enqueueSetData(["n": 2])
        let offline = try await cities.getDocuments()
        #expect(offline.metadata.isFromCache)
        #expect(offline.metadata.freshness.source == .cache)
        #expect(offline.metadata.freshness.readTime == readTime)
        #expect(offline.metadata.freshness.isComplete)
        #expect(offline.metadata.freshness.pendingDocumentCount == 1)
        let cached = try await cities.getDocuments(source: .cache)
        #expect(cached.metadata.freshness == offline.metadata.freshness)
        #expect(
            cached.documents.map { $0.metadata.freshness.pendingDocumentCount } == [1, 0])
        // Another query may miss documents of the same collection.
        let other = cities.whereField("n", isGreaterThan: 0)
        #expect(try await other.getDocuments().metadata.freshness.readTime == nil)
        try await db.terminate()
    }

    @Test("a listener's results keep their read time when the network fails")
    func listener() async throws {
        let world = try World()
        try await world.set("cities/SF", ["n": 1])
        let db = try world.database()
        var last: Timestamp?
        for try await snapshot in db.collection("cities").snapshots(includeMetadataChanges: true) {
            let freshness = snapshot.metadata.freshness
            if snapshot.metadata.isFromCache {
                guard let last else { continue }
                #expect(try #require(freshness.readTime) >= last)
                #expect(freshness.source == .cache)
                break
            }
            let size = snapshot.documents.first?.get("n") as? Int
            last = freshness.readTime
            if size == 1 {
                let version = try await world.set("cities/SF", ["n": 2])
                #expect(try #require(last) < version.timestamp)
            } else {
                try await db.disableNetwork()
            }
        }
        #expect(last != nil)
        try await db.terminate()
    }

    @Test("after a broken stream results keep their read time until the next stream confirms them")
    func reopenedStream() async throws {
        let remote = SpokenRemote()
        var configuration = FirestoreConfiguration.inMemory
        configuration.backend = RemoteConnection(remote)
        let db = try Firestore(configuration: configuration)
        var cities = db.collection("cities").snapshots(includeMetadataChanges: true)
            .makeAsyncIterator()
        await remote.requests.wait { $0.count == 1 }
        var towns = db.collection("towns").snapshots(includeMetadataChanges: true)
            .makeAsyncIterator()
        await remote.requests.wait { $0.count == 2 }
        let targets = remote.askedTargets
        remote.watch(targets)
        remote.finish(targets)
        remote.snapshot(at: 10)
        while let next = try await cities.next(), next.metadata.isFromCache {}
        while let next = try await towns.next(), next.metadata.isFromCache {}

        remote.breakStream()
        await remote.requests.wait { $0.count == 4 }
        remote.watch([targets[0]])
        remote.snapshot(at: 20)
        try await db.disableNetwork()
        let freshness = [try await cities.next(), try await towns.next()].map {
            $0?.metadata.freshness.readTime?.seconds
        }
        #expect(freshness == [20, 10])
        try await db.terminate()
    }

    @Test("a cached document has the read time of its last response, also below a pending write")
    func document() async throws {
        let world = try World()
        let version = try await world.set("cities/SF", ["n": 1])
        let db = try world.database()
        let city = db.document("cities/SF")
        _ = try await city.getDocument()
        try await db.disableNetwork()
        let learnt = try #require(
            try await city.getDocument(source: .cache).metadata.freshness.readTime)
        #expect(learnt >= version.timestamp)
        city.enqueueUpdateData(["n": 2])
        let pending = try await city.getDocument(source: .cache).metadata.freshness
        #expect(pending.readTime == learnt && pending.pendingDocumentCount == 1)
        let own = db.document("cities/LA")
        own.enqueueSetData(["n": 3])
        #expect(try await own.getDocument(source: .cache).metadata.freshness.readTime == nil)
        try await db.terminate()
    }

    @Test("metadata is equal if its flags are, as in Apple's SDK")
    func equality() async throws {
        let world = try World()
        try await world.set("cities/SF", ["n": 1])
        let db = try world.database()
        let first = try await db.collection("cities").getDocuments().metadata
        try await world.set("cities/SF", ["n": 2])
        let second = try await db.collection("cities").getDocuments().metadata
        #expect(first == second)
        #expect(first.freshness != second.freshness)
        try await db.terminate()
    }
}
