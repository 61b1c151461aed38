import Larder
import LarderTestSupport
import Testing

/// What is evicted by hand comes back from the backend.
@Suite struct CacheUsageTests {
    @Test("a later get brings evicted documents back")
    func get() async throws {
        let world = try World()
        for id in ["A", "B"] { try await world.set("cities/\(id)", ["n": 1]) }
        let db = try world.database()
        let cities = db.collection("cities")
        #expect(try await cities.getDocuments().count == 2)
        #expect(try await cities.evict().evictedCount == 2)
        #expect(try await cities.getDocuments(source: .cache).isEmpty)
        #expect(
            try await cities.getDocuments(source: .cache).metadata.freshness.isComplete == false)
        #expect(try await cities.getDocuments().count == 2)
        try await db.document("cities/A").evict()
        #expect(try await cities.getDocuments().count == 2)
        try await db.terminate()
    }

    @Test("cache rules of a configuration are in force, are counted, and change at run time")
    func rules() async throws {
        let directory = try TemporaryDirectory()
        var configuration = FirestoreConfiguration(directory: directory.file("store"))
        let drafts = CacheRule(.collection("drafts"), isLocalOnly: true)
        configuration.cacheRules = [drafts]
        let db = try Firestore(configuration: configuration)
        #expect(try db.cacheRules == [drafts])
        #expect(try await db.document("drafts/none").getDocument().exists == false)
        #expect(try await db.document("drafts/none").getDocument(source: .cache).exists == false)
        // Without a backend only such a write is ever acknowledged.
        try await db.document("drafts/a").setData(["n": 1])
        let handle = db.document("drafts/a").enqueueUpdateData(["n": FieldValue.increment(2)])
        #expect(try await handle.committedLocally() == nil)
        try await handle.acknowledged()
        #expect(try await db.document("drafts/a").getDocument().get("n") as? Int == 3)
        #expect(try await db.collection("drafts").getDocuments().count == 1)
        #expect(try await db.collection("drafts").evict().keptCount == 1)
        let usage = try #require(try db.cacheRuleUsage().first)
        #expect(usage.rule == drafts && usage.documentCount == 1 && usage.sizeBytes > 0)
        let contradiction = CacheRule(.collection("a"), isPinned: true, isNeverCached: true)
        #expect(
            await code { try await db.setCacheRules([contradiction]) } == .invalidArgument)
        #expect(try db.cacheRules == [drafts])
        try await db.setCacheRules([CacheRule(.collection("drafts"), isNeverCached: true)])
        #expect(try await db.collection("drafts").getDocuments(source: .cache).isEmpty)
        try await db.terminate()
        configuration.cacheRules = [contradiction]
        #expect(
            await code { _ = try Firestore(configuration: configuration) } == .invalidArgument)
    }

    @Test("a listener sees evicted documents disappear and reappear")
    func listener() async throws {
        let world = try World()
        for id in ["A", "B"] { try await world.set("cities/\(id)", ["n": 1]) }
        let db = try world.database()
        var counts: [Int] = []
        for try await snapshot in db.collection("cities").snapshots(includeMetadataChanges: true) {
            if counts.last != snapshot.count { counts.append(snapshot.count) }
            if counts == [2], !snapshot.metadata.isFromCache {
                try await db.document("cities/A").evict()
            }
            if counts == [2, 1, 2], !snapshot.metadata.isFromCache { break }
        }
        #expect(counts == [2, 1, 2])
        try await db.terminate()
    }
}
