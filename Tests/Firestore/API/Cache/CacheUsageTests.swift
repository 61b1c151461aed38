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
