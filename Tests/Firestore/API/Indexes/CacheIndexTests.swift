import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Indexes through the API")
struct CacheIndexTests {
    private let json = """
        {"indexes": [{"collectionGroup": "cities", "queryScope": "COLLECTION", "fields": [
            {"fieldPath": "country", "order": "ASCENDING"},
            {"fieldPath": "population", "order": "DESCENDING"}]}]}
        """

    private let index = CacheIndex("cities", [.ascending("country"), .descending("population")])

    @Test("JSON of the Firebase CLI and the typed form configure the same indexes")
    func configuration() async throws {
        let db = try memoryDatabase()
        try await db.setIndexConfiguration(json)
        #expect(try db.indexes().map(\.index) == [index])
        try await db.setIndexes([CacheIndex("other", [.contains("tags.all")])])
        #expect(
            try db.indexes().map(\.index) == [
                CacheIndex("other", [.init(FieldPath(["tags", "all"]), .contains)])
            ])
        let done = Recorder<Bool>()
        db.setIndexConfiguration(json) { done.record($0 == nil) }
        #expect(await done.first(1) == [true])
        try await db.setIndexConfiguration(InputStream(data: Data(#"{"indexes": []}"#.utf8)))
        #expect(try db.indexes().isEmpty)
        db.setIndexConfiguration(InputStream(data: Data(json.utf8))) { done.record($0 == nil) }
        #expect(await done.first(2).last == true)
        #expect(try db.indexes().map(\.index) == [index])
    }

    @Test("An invalid index configuration is rejected and has no effect")
    func refusals() async throws {
        let db = try memoryDatabase()
        try await db.setIndexes([index])
        for json in ["", "[]", "{", #"{"indexes": [{"fields": []}]}"#] {
            #expect(await code { try await db.setIndexConfiguration(json) } == .invalidArgument)
        }
        let invalid = InputStream(data: Data([0xff, 0xfe]))
        #expect(await code { try await db.setIndexConfiguration(invalid) } == .invalidArgument)
        #expect(await code { try await db.setIndexes([CacheIndex("a", [])]) } == .invalidArgument)
        #expect(
            await code { try await db.setIndexes([CacheIndex("a", [.ascending("a..b")])]) }
                == .invalidArgument)
        #expect(try db.indexes().map(\.index) == [index])
    }

    @Test("Only stores on disk have an index manager")
    func manager() async throws {
        #expect(try memoryDatabase().persistentCacheIndexManager == nil)
        let directory = try TemporaryDirectory()
        let db = try diskDatabase(directory)
        let manager = try #require(db.persistentCacheIndexManager)
        try await db.setIndexes([index])
        manager.enableIndexAutoCreation()
        manager.enableIndexAutoCreation(acrossStarts: true)
        manager.disableIndexAutoCreation()
        manager.deleteAllIndexes()
        // Requests go in order, so that this one comes behind them.
        try await db.enableNetwork()
        #expect(try db.indexes().isEmpty)
    }
}
