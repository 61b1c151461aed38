import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@Suite("A local database")
struct LocalDatabaseTests {
    private let folder: LocalDatabaseFolder

    init() throws {
        folder = try LocalDatabaseFolder()
    }

    // MARK: Finality

    @Test("a write is final at its commit, and nothing is pending")
    func writes() async throws {
        let db = try folder.open()
        let city = db.document("cities/SF")
        let write = city.enqueueSetData([
            "n": 1, "tags": ["a"], "made": FieldValue.serverTimestamp(),
        ])
        #expect(try await write.committedLocally() == nil)
        try await write.acknowledged()
        try await city.updateData([
            "n": FieldValue.increment(Int64(4)), "tags": FieldValue.arrayUnion(["b"]),
        ])
        let batch = db.batch()
        batch.setData(["n": 7], forDocument: db.document("cities/LA"))
        batch.deleteDocument(db.document("cities/none"))
        try await batch.commit()
        let snapshot = try await city.getDocument()
        #expect(snapshot.get("n") as? Int == 5)
        #expect(snapshot.get("tags") as? [String] == ["a", "b"])
        let made = try #require(snapshot.get("made") as? Timestamp)
        #expect(abs(made.dateValue().timeIntervalSinceNow) < 60)
        #expect(!snapshot.metadata.hasPendingWrites && !snapshot.metadata.isFromCache)
        #expect(try await db.pendingWrites().isEmpty)
        try await db.waitForPendingWrites()
        let usage = try db.cacheUsage()
        #expect(usage.pendingWriteCount == 0 && usage.pendingWriteBytes == 0)
        #expect(usage.documentCount == 2 && usage.limitBytes == nil)
        #expect(db.networkState.reason == .noBackend)
        let completed = Recorder<LarderError.Code?>()
        city.setData(["n": 9]) { completed.record(($0 as? LarderError)?.kind) }
        #expect(await completed.first(1) == [nil])
    }

    @Test("a precondition that does not hold fails the whole write")
    func preconditions() async throws {
        let db = try folder.open()
        #expect(await code { try await db.document("c/none").updateData(["n": 1]) } == .notFound)
        let batch = db.batch()
        batch.setData(["n": 1], forDocument: db.document("c/a"))
        batch.updateData(["n": 2], forDocument: db.document("c/none"))
        #expect(await code { try await batch.commit() } == .notFound)
        #expect(try await !db.document("c/a").getDocument().exists)
        #expect(try await db.deadLetters().isEmpty)
    }

    @Test(
        "what is not there does not exist, for every source",
        arguments: [FirestoreSource.default, .server, .cache])
    func sources(_ source: FirestoreSource) async throws {
        let db = try folder.open()
        let missing = try await db.document("c/none").getDocument(source: source)
        #expect(!missing.exists && !missing.metadata.isFromCache)
        let completed = Recorder<Bool?>()
        db.document("c/none").getDocument(source: source) { snapshot, _ in
            completed.record(snapshot?.exists)
        }
        #expect(await completed.first(1) == [false])
        try await db.document("c/a").setData(["n": 1])
        try await db.document("c/b").setData(["n": 2])
        try await db.document("c/a/d/e").setData(["n": 3])
        let all = try await db.collection("c").getDocuments(source: source)
        #expect(all.count == 2 && !all.metadata.isFromCache)
        let part = try await db.collection("c").select(["n"]).offset(1).getDocuments(source: source)
        #expect(part.documents.map(\.documentID) == ["b"])
        #expect(try await db.listCollections(source: source).map(\.path) == ["c"])
        #expect(
            try await db.collection("c").listDocuments(source: source).map(\.path) == [
                "c/a", "c/b",
            ])
        #expect(
            try await db.document("c/a").listCollections(source: source).map(\.path) == ["c/a/d"])
    }

    @Test(
        "aggregations, plans and indexes work, whatever the source",
        arguments: [AggregateSource.server, .cache])
    func aggregates(_ source: AggregateSource) async throws {
        let db = try folder.open()
        // Complete at once, since nothing is to be filled.
        try await db.setIndexes([CacheIndex("c", [.ascending("n")])])
        for number in 0..<30 { try await db.document("c/\(number)").setData(["n": number]) }
        let query = db.collection("c").whereField("n", isGreaterThan: 20)
        #expect(try await query.count.getAggregation(source: source).count == 9)
        let sum = AggregateField.sum("n")
        let found = try await query.aggregate([sum]).getAggregation(source: source)
        #expect(found.get(sum) as? Int == (21...29).reduce(0, +))
        // Each step of building is a turn of the engine; so is each of these.
        while try db.indexes().contains(where: { !$0.isComplete }) {
            _ = try await db.cancelPendingWrite(-1)
        }
        #expect(try await query.explain().kind == "index scan")
        #expect(try await query.getDocuments().count == 9)
    }

    @Test("listeners see final documents that are no cache, and only their changes")
    func listeners() async throws {
        let db = try folder.open()
        let heard = Recorder<String>()
        let registration = db.collection("c").addSnapshotListener(includeMetadataChanges: true) {
            snapshot, _ in
            guard let snapshot else { return }
            heard.record(
                "\(snapshot.documents.map { "\($0.documentID)=\($0.data()["n"] ?? "")" }) "
                    + "\(snapshot.metadata.hasPendingWrites) \(snapshot.metadata.isFromCache)")
        }
        _ = await heard.first(1)
        try await db.document("c/a").setData(["n": 1])
        _ = await heard.first(2)
        try await db.document("c/a").setData(["n": 2])
        _ = await heard.first(3)
        try await db.document("c/a").delete()
        #expect(
            await heard.first(4) == [
                "[] false false", "[\"a=1\"] false false", "[\"a=2\"] false false",
                "[] false false",
            ])
        registration.remove()
    }

    @Test("transactions commit in the store, and are run again when a document has changed")
    func transactions() async throws {
        let db = try folder.open()
        try await db.document("c/a").setData(["n": 0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    _ = try await db.runTransaction { transaction, failure in
                        do {
                            let document = try transaction.getDocument(db.document("c/a"))
                            let number = document.get("n") as? Int ?? -1
                            transaction.updateData(
                                ["n": number + 1], forDocument: db.document("c/a"))
                        } catch {
                            failure?.pointee = error as NSError
                        }
                        return nil
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await db.document("c/a").getDocument().get("n") as? Int == 20)
        #expect(try await db.pendingWrites().isEmpty)
    }

    @Test("bulk writers and recursive deletes work in the store, at once")
    func bulk() async throws {
        let db = try folder.open()
        let writer = db.bulkWriter()
        let writes = (0..<1_200).map {
            writer.setData(["n": $0], forDocument: db.document("c/\($0)/d/e"))
        }
        let refused = writer.updateData(["n": 1], forDocument: db.document("c/none"))
        await writer.close()
        #expect(try await writes[5].result().writeTime != nil)
        #expect(await code { _ = try await refused.result() } == .notFound)
        #expect(
            try await db.collectionGroup("d").count.getAggregation(source: .server).count == 1_200)
        try await db.document("c/7").setData(["n": 0])
        try await db.document("b/x").setData(["n": 0])
        #expect(try await db.recursiveDelete(db.document("c/7")) == 2)
        #expect(try await db.recursiveDelete(db.collection("c")) == 1_199)
        #expect(try await folder.numbers(db, "b") == ["b/x": 0])
        #expect(try db.cacheUsage().documentCount == 1)
        #expect(try db.cacheUsage().absentDocumentCount == 0)
    }

    // MARK: Its size

    @Test("nothing is evicted, and what would evict is refused")
    func eviction() async throws {
        let db = try folder.open { $0.cacheSize = .bytes(1 << 20) }
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<300 {
            let write = db.document("c/\(number)").enqueueSetData(["n": number, "text": text])
            if number % 100 == 0 { try await write.committedLocally() }
        }
        let report = try await db.collection("c").evict()
        #expect(report.evictedCount == 0 && report.keptCount == 300)
        #expect(try await db.collection("c").count.getAggregation(source: .server).count == 300)
        let limit = CacheRule(.collection("c"), maximumBytes: 1_000)
        #expect(await code { try await db.setCacheRules([limit]) } == .invalidArgument)
        try await db.setCacheRules([CacheRule(.allCollections, isPinned: true)])
        try await db.terminate()
        for rule in [limit, CacheRule(.allCollections, isNeverCached: true)] {
            #expect(
                await code { _ = try folder.open { $0.cacheRules = [rule] } } == .invalidArgument)
        }
        #expect(
            await code {
                _ = try folder.open { $0.storage = .memoryWithoutUnused }
            } == .invalidArgument)
    }

    @Test("its size is that of its documents, however often they are written")
    func growth() async throws {
        let db = try folder.open()
        func rewrite(_ count: Int) async throws {
            for number in 0..<count {
                let document = db.document("c/\(number % 10)")
                let write = document.enqueueSetData([
                    "n": number, "text": "some text of a document",
                ])
                let gone = db.document("d/\(number)")
                gone.enqueueSetData(["n": number])
                let end = gone.enqueueDelete()
                if number % 50 == 0 {
                    try await write.committedLocally()
                    try await end.committedLocally()
                }
            }
            try await db.waitForPendingWrites()
        }
        try await rewrite(1_000)
        let before = try db.cacheUsage()
        try await rewrite(10_000)
        let after = try db.cacheUsage()
        #expect(after.documentCount == 10 && after.absentDocumentCount == 0)
        // With at most 4,116 entries of the LRU log, of some 6 bytes each; there were 31,000 writes.
        #expect(after.totalBytes <= before.totalBytes + (32 << 10))
        #expect(after.fileBytes <= before.fileBytes + (256 << 10))
    }
}
