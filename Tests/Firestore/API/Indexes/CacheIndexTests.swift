import Foundation
import Larder
import LarderTestSupport
import Logging
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

    @Test("Without a handler, the error of a call is logged")
    func loggedErrors() async throws {
        let lines = Recorder<String>()
        var configuration = FirestoreConfiguration.inMemory
        configuration.logger = Logger(label: "test") { _ in
            ClosureLog(.warning) { lines.record("\($0.level): \($0.message)") }
        }
        let db = try Firestore(configuration: configuration)
        // In a synchronous closure, which the asynchronous overloads are not chosen in.
        func call(_ body: () -> Void) { body() }
        call { db.setIndexConfiguration("{") }
        let first = await lines.first(1)[0]
        #expect(first.hasPrefix("error: setIndexConfiguration: "), "\(first)")
        call { db.setIndexConfiguration(InputStream(data: Data([0xff, 0xfe]))) }
        #expect(
            await lines.first(2)[1]
                == "error: setIndexConfiguration: The index configuration is not UTF-8.")
        // Reported to the handler alone.
        let reported = Recorder<Bool>()
        db.setIndexConfiguration("{") { reported.record($0 != nil) }
        #expect(await reported.first(1) == [true] && lines.elements.count == 2)
        call { db.clearPersistence() }
        let third = await lines.first(3)[2]
        #expect(third.hasPrefix("error: clearPersistence: "), "\(third)")
        call { db.setIndexConfiguration(json) }
        try await db.enableNetwork()
        #expect(try db.indexes().map(\.index) == [index] && lines.elements.count == 3)
        try await db.terminate()
    }

    @Test("Indexes and their states are described on one line")
    func descriptions() async throws {
        let index = CacheIndex(
            "cities",
            [.ascending("country"), .descending("size.area"), .init(FieldPath(["a b"]), .contains)])
        #expect("\(index)" == "cities(country ASC, size.area DESC, `a b` CONTAINS)")
        let db = try memoryDatabase()
        try await db.setIndexes([CacheIndex("cities", [.ascending("country")])])
        try await db.document("cities/SF").enqueueSetData(["country": "US"]).committedLocally()
        let state = try #require(try db.indexes().first)
        #expect(
            "\(state)" == "cities(country ASC): complete, 1 entry, \(state.sizeBytes) bytes")
        #expect(
            try await db.collection("cities").whereField("country", isEqualTo: "US").explain()
                .indexes == ["\(state.index)"])
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
