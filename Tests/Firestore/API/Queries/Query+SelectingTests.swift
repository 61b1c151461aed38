import Foundation
import Larder
import LarderModel
import LarderTestSupport
import Testing

@Suite("Selected fields and offsets")
struct QuerySelectingTests {
    private func filled(_ world: World) async throws -> Firestore {
        for (id, number) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            try await world.set(
                "cities/\(id)",
                ["n": .integer(Int64(number)), "name": .string(id), "at": ["x": 1, "y": 2]])
        }
        return try world.database()
    }

    @Test("The server returns the selected fields, and nothing of them is cached")
    func select() async throws {
        let world = try World()
        let db = try await filled(world)
        let query = db.collection("cities").order(by: "n", descending: true)
            .select(["name", Larder.FieldPath(["at", "x"]), "none"]).limit(to: 2)
        let snapshot = try await query.getDocuments()
        #expect(snapshot.documents.map(\.documentID) == ["d", "c"])
        let data = snapshot.documents.map { $0.data() as NSDictionary }
        #expect(data == [["name": "d", "at": ["x": 1]], ["name": "c", "at": ["x": 1]]])
        #expect(!snapshot.metadata.isFromCache && !snapshot.metadata.hasPendingWrites)
        #expect(snapshot.documents.allSatisfy { $0.updateTime != nil && $0.createTime != nil })
        #expect(snapshot.metadata.freshness.readTime != nil)
        #expect(try await db.collection("cities").getDocuments(source: .cache).isEmpty)
        // A full document in the cache stays full.
        _ = try await db.document("cities/d").getDocument(source: .server)
        _ = try await query.getDocuments()
        let cached = try await db.document("cities/d").getDocument(source: .cache)
        #expect(cached.data()?.count == 3)
        try await db.terminate()
    }

    @Test("Without fields, only names are read")
    func names() async throws {
        let world = try World()
        let db = try await filled(world)
        let snapshot = try await db.collection("cities").select([]).getDocuments(source: .server)
        #expect(snapshot.count == 4 && snapshot.documents.allSatisfy { $0.data().isEmpty })
        try await db.terminate()
    }

    @Test("An offset skips documents from the end that the limit counts from")
    func offset() async throws {
        let world = try World()
        let db = try await filled(world)
        let ordered = db.collection("cities").order(by: "n")
        func ids(_ query: Query, _ source: FirestoreSource) async throws -> [String] {
            try await query.getDocuments(source: source).documents.map(\.documentID)
        }
        let queries: [(Query, [String])] = [
            (ordered.offset(1), ["b", "c", "d"]), (ordered.offset(1).limit(to: 2), ["b", "c"]),
            (ordered.limit(toLast: 2).offset(1), ["b", "c"]), (ordered.offset(4), []),
            (ordered.limit(to: 2).offset(0), ["a", "b"]),
            (ordered.start(after: [1]).offset(1), ["c", "d"]),
        ]
        for (query, expected) in queries {
            #expect(try await ids(query, .server) == expected)
        }
        _ = try await ordered.getDocuments(source: .server)
        try await db.disableNetwork()
        for (query, expected) in queries {
            #expect(try await ids(query, .cache) == expected)
            #expect(try await ids(query, .default) == expected)
            // With neither an offset nor fields, a query is a listener's, whose error differs.
            #expect(await code { _ = try await ids(query, .server) } == .unavailable)
        }
        try await db.terminate()
    }

    @Test("The cache's results have pending writes, those of the server do not")
    func pending() async throws {
        let world = try World()
        let db = try await filled(world)
        let query = db.collection("cities").order(by: "n").select(["n"]).limit(to: 1)
        _ = try await db.collection("cities").getDocuments(source: .server)
        world.network.set(.silent)
        db.document("cities/a").enqueueUpdateData(["n": 1.5, "name": "other"])
        let cached = try await query.getDocuments(source: .cache)
        #expect(cached.documents.map { $0.data() as NSDictionary } == [["n": 1.5]])
        #expect(cached.metadata.hasPendingWrites && cached.metadata.isFromCache)
        try await db.terminate()
    }

    @Test("What needs all results is refused, and so are invalid fields and offsets")
    func refused() async throws {
        let world = try World()
        let db = try await filled(world)
        let cities = db.collection("cities")
        for query in [cities.offset(1), cities.select(["n"])] {
            #expect(
                await code { for try await _ in query.snapshots { return } } == .invalidArgument)
            let count = query.count
            #expect(
                await code { _ = try await count.getAggregation(source: .server) }
                    == .invalidArgument)
            #expect(await code { try await query.evict() } == .invalidArgument)
            #expect(try await query.explain().documentsReturned == 0)
        }
        for query in [cities.offset(-1), cities.select(["a..b"]), cities.select([7])] {
            #expect(await code { _ = try await query.getDocuments() } == .invalidArgument)
        }
        try await db.terminate()
    }

    @Test("Queries with different parts are different")
    func equality() throws {
        let cities = try memoryDatabase().collection("cities")
        #expect(cities.offset(1) == cities.offset(1) && cities.offset(1) != cities.offset(2))
        #expect(cities.select(["b", "a"]) == cities.select(["a", "b"]))
        #expect(cities.select(["a"]) != cities && cities.select([]) != cities)
        #expect(cities.offset(0) == cities)
        #expect(cities.offset(1).limit(to: 2) == cities.limit(to: 2).offset(1))
    }
}
