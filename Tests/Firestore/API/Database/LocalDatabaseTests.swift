import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@Suite("A local database")
struct LocalDatabaseTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var place: String { directory.file("store") }

    private func open(
        isLocal: Bool = true, _ change: (inout FirestoreConfiguration) -> Void = { _ in }
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: place)
        configuration.isLocal = isLocal
        configuration.project = "test"
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = DispatchQueue(label: "larder.tests.local")
        change(&configuration)
        return try Firestore(configuration: configuration)
    }

    /// What a database has, by path.
    private func numbers(_ db: Firestore, _ collections: String...) async throws -> [String: Int] {
        var numbers: [String: Int] = [:]
        for collection in collections {
            for document in try await db.collection(collection).getDocuments(source: .cache)
                .documents
            {
                numbers[document.reference.path] = document.data()["n"] as? Int
            }
        }
        return numbers
    }

    private func role() throws -> StoreRole? {
        let store = try Store(StoreConfiguration(directory: place))
        defer { try? store.close() }
        return try store.read { (transaction) throws(LarderError) in try transaction.role() }
    }

    // MARK: Finality

    @Test("a write is final at its commit, and nothing is pending")
    func writes() async throws {
        let db = try open()
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
        let db = try open()
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
        let db = try open()
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
        let db = try open()
        for number in 0..<30 { try await db.document("c/\(number)").setData(["n": number]) }
        try await db.setIndexes([CacheIndex("c", [.ascending("n")])])
        let query = db.collection("c").whereField("n", isGreaterThan: 20)
        #expect(try await query.count.getAggregation(source: source).count == 9)
        let sum = AggregateField.sum("n")
        let found = try await query.aggregate([sum]).getAggregation(source: source)
        #expect(found.get(sum) as? Int == (21...29).reduce(0, +))
        #expect(try await query.explain().kind == "index scan")
        #expect(try await query.getDocuments().count == 9)
    }

    @Test("listeners see final documents that are no cache, and only their changes")
    func listeners() async throws {
        let db = try open()
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
        let db = try open()
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
        let db = try open()
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
        #expect(try await numbers(db, "b") == ["b/x": 0])
        #expect(try db.cacheUsage().documentCount == 1)
        #expect(try db.cacheUsage().absentDocumentCount == 0)
    }

    // MARK: Its size

    @Test("nothing is evicted, and what would evict is refused")
    func eviction() async throws {
        let db = try open { $0.cacheSize = .bytes(1 << 20) }
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
            #expect(await code { _ = try open { $0.cacheRules = [rule] } } == .invalidArgument)
        }
        #expect(
            await code {
                _ = try open { $0.storage = .memoryWithoutUnused }
            } == .invalidArgument)
    }

    @Test("its size is that of its documents, however often they are written")
    func growth() async throws {
        let db = try open()
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

    // MARK: Opening

    @Test("a store stays a local database, also when it is opened without that")
    func reopening() async throws {
        var db = try open()
        try await db.document("c/a").setData(["n": 1])
        try await db.terminate()
        db = try open(isLocal: false)
        try await db.document("c/b").setData(["n": 2])
        #expect(try await db.pendingWrites().isEmpty)
        #expect(try await !db.document("c/none").getDocument().exists)
        try await db.terminate()
        #expect(try role() == .local)
        db = try open(isLocal: false) { $0.access = .readOnly }
        #expect(try await !db.document("c/none").getDocument(source: .server).exists)
        #expect(try await numbers(db, "c") == ["c/a": 1, "c/b": 2])
        try await db.terminate()
    }

    @Test("a configuration with a backend contradicts it")
    func contradiction() async throws {
        let world = try World()
        #expect(
            await code { _ = try open { $0.backend = world.network.connection } }
                == .invalidArgument)
    }

    @Test("pending writes become final in their order when the database becomes local")
    func pending() async throws {
        var db = try open(isLocal: false)
        try await db.document("c/a").enqueueSetData(["n": 1]).committedLocally()
        for _ in 0..<700 {
            db.document("c/a").enqueueUpdateData(["n": FieldValue.increment(Int64(2))])
        }
        try await db.document("c/none").enqueueUpdateData(["n": 1]).committedLocally()
        try await db.switchUser(to: "ada")
        try await db.document("c/b").enqueueSetData(["n": 5]).committedLocally()
        try await db.document("c/gone").enqueueSetData(["n": 6]).committedLocally()
        try await db.document("c/gone").enqueueDelete().committedLocally()
        try await db.terminate()
        #expect(try role() == .cache)
        db = try open()
        #expect(try await numbers(db, "c") == ["c/a": 1_401, "c/b": 5])
        #expect(try await db.pendingWrites().isEmpty)
        #expect(try db.cacheUsage().pendingWriteCount == 0)
        let letters = try await db.deadLetters()
        #expect(letters.map(\.error.kind) == [.notFound])
        try await db.document("c/none").setData(["n": 0])
        let handle = try #require(try await db.retryDeadLetter(letters[0].id))
        try await handle.acknowledged()
        #expect(handle.batchID == nil)
        #expect(try await numbers(db, "c")["c/none"] == 1)
        #expect(try await db.deadLetters().isEmpty)
        try await db.terminate()
        #expect(try role() == .local)
    }

    @Test("a cache of a backend is refused as a local database, and stays what it is")
    func cache() async throws {
        let world = try World()
        var configuration = FirestoreConfiguration(directory: place)
        configuration.durability = .lastCommitAtRisk
        var db = try world.database(configuration)
        try await db.document("c/a").setData(["n": 1])
        try await db.document("c/b").setData(["n": 2])
        #expect(try await db.collection("c").getDocuments(source: .server).count == 2)
        world.network.set(.down)
        try await db.document("c/a").enqueueUpdateData(["n": 3]).committedLocally()
        try await db.terminate()
        let error = #expect(throws: LarderError.self) { try open() }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains("cache of a backend") == true)
        #expect(try role() == .cache)
        db = try world.database(configuration)
        #expect(try await db.pendingWrites().count == 1)
        try await db.terminate()
    }

    @Test("documents that were local only, and an import, become final")
    func conversions() async throws {
        var db = try open(isLocal: false) {
            $0.cacheRules = [CacheRule(.collection("drafts"), isLocalOnly: true)]
        }
        try await db.document("drafts/a").setData(["n": 1])
        try await db.document("c/a").enqueueSetData(["n": 2]).committedLocally()
        try await db.terminate()
        db = try open()
        #expect(try await numbers(db, "c", "drafts") == ["drafts/a": 1, "c/a": 2])
        try await db.terminate()
        let store = try Store(StoreConfiguration(directory: place))
        try store.write { (transaction) throws(LarderError) in
            try transaction.putRole(.imported)
        }
        try store.close()
        db = try open()
        #expect(try await numbers(db, "c", "drafts") == ["drafts/a": 1, "c/a": 2])
        try await db.terminate()
        #expect(try role() == .local)
    }

    @Test("a bundle is refused, since it would replace final documents")
    func bundle() async throws {
        let db = try open()
        let error = await code { _ = try await db.loadBundle(Data("12{}".utf8)) }
        #expect(error == .failedPrecondition)
    }

    // MARK: A backend

    private func connected(
        _ world: World, _ change: (inout FirestoreConfiguration) -> Void
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: place)
        configuration.durability = .lastCommitAtRisk
        change(&configuration)
        return try world.database(configuration)
    }

    private func fill() async throws {
        let db = try open()
        for number in 0..<600 { db.document("c/\(number)").enqueueSetData(["n": number]) }
        try await db.document("c/1/d/x").setData(["n": -1])
        try await db.document("c/0").delete()
        try await db.terminate()
    }

    @Test("without a choice, a local database with documents is not opened with a backend")
    func noChoice() async throws {
        try await fill()
        let world = try World()
        let error = #expect(throws: LarderError.self) { try connected(world) { _ in } }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains(".push") == true)
        #expect(error?.message.contains(".keepLocal") == true)
        #expect(try role() == .local)
        let db = try open(isLocal: false)
        #expect(try await numbers(db, "c").count == 599)
        try await db.terminate()
    }

    @Test("an empty local database needs no choice")
    func empty() async throws {
        let db = try open()
        try await db.document("c/a").setData(["n": 1])
        try await db.document("c/a").delete()
        try await db.terminate()
        let world = try World()
        try await connected(world) { _ in }.terminate()
        #expect(try role() == .cache)
    }

    @Test("its documents are pushed to a backend, in place of those of the same names")
    func push() async throws {
        try await fill()
        let world = try World()
        let other = try world.database()
        try await other.document("c/3").setData(["n": 33, "old": true])
        try await other.document("c/other").setData(["n": 44])
        world.network.set(.down)
        // A small cache does not evict what is yet to be pushed.
        let db = try connected(world) {
            $0.localData = .push
            $0.cacheSize = .bytes(1 << 20)
        }
        #expect(try await db.pendingWrites().count == 600)
        #expect(try await numbers(db, "c").count == 599)
        #expect(try await numbers(db, "c")["c/3"] == 3)
        world.network.set(.up)
        db.reconnect()
        try await db.waitForPendingWrites()
        #expect(try await db.deadLetters().isEmpty)
        let pushed = try await other.collection("c").getDocuments(source: .server)
        #expect(pushed.count == 600)
        let third = try await other.document("c/3").getDocument(source: .server)
        #expect(third.data()?.keys.sorted() == ["n"])
        #expect(
            try await other.document("c/1/d/x").getDocument(source: .server).get("n") as? Int == -1)
        // The backend's later changes are seen.
        try await other.document("c/3").setData(["n": 34])
        #expect(try await db.document("c/3").getDocument(source: .server).get("n") as? Int == 34)
        try await db.terminate()
        try await other.terminate()
        #expect(try role() == .cache)
        let again = try connected(world) { _ in }
        #expect(try await again.pendingWrites().isEmpty)
        try await again.terminate()
    }

    @Test("a push that ends in the middle is made final or goes on")
    func interruptedPush() async throws {
        try await fill()
        let store = try Store(StoreConfiguration(directory: place))
        let path = try DocumentPath("c/5")
        let document = try store.read { (transaction) throws(LarderError) in
            try transaction.document(at: path)
        }
        let record = try #require(document?.record)
        // As a crash leaves it: some documents are queued, the store is still a local database.
        try store.write { (transaction) throws(LarderError) in
            try transaction.remove(path)
            let write = MutationPayload(mutations: [Mutation(.set(record), at: path)])
            _ = try transaction.appendMutations(
                try write.bytes(using: try RecordBuilder()),
                touching: [TouchedDocument(path: path)],
                localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), of: .unauthenticated)
        }
        try store.close()
        let db = try open()
        #expect(try await numbers(db, "c")["c/5"] == 5)
        #expect(try await db.pendingWrites().isEmpty)
        try await db.terminate()
    }

    @Test("its collections are kept local, and others are the backend's")
    func keepLocal() async throws {
        try await fill()
        let world = try World()
        var db = try connected(world) {
            $0.localData = .keepLocal
            $0.cacheSize = .bytes(1 << 20)
        }
        #expect(try await numbers(db, "c").count == 599)
        #expect(
            try Set(db.cacheRules) == [
                CacheRule(.collectionGroup("c"), isLocalOnly: true),
                CacheRule(.collectionGroup("d"), isLocalOnly: true),
            ])
        try await db.document("c/new").enqueueSetData(["n": 1]).acknowledged()
        #expect(try await db.pendingWrites().isEmpty)
        try await db.document("shared/a").setData(["n": 1])
        let other = try world.database()
        #expect(try await other.collection("c").getDocuments(source: .server).isEmpty)
        #expect(try await other.document("shared/a").getDocument(source: .server).exists)
        try await db.terminate()
        // Rules of a later configuration do not release them.
        db = try connected(world) {
            $0.localData = .keepLocal
            $0.cacheRules = [CacheRule(.collection("shared"), isPinned: true)]
        }
        #expect(try db.cacheRules.filter(\.isLocalOnly).count == 2)
        #expect(try await numbers(db, "c").count == 600)
        try await db.terminate()
        try await other.terminate()
    }

    @Test("a rule of all collections makes them local only, but for those with rules of their own")
    func wildcard() async throws {
        let world = try World()
        let db = try connected(world) {
            $0.cacheRules = [
                CacheRule(.allCollections, isLocalOnly: true), CacheRule(.collection("shared")),
            ]
        }
        try await db.document("notes/a").enqueueSetData(["n": 1]).acknowledged()
        try await db.document("deep/a/notes/b").enqueueSetData(["n": 2]).acknowledged()
        try await db.document("shared/a").setData(["n": 3])
        #expect(try await db.pendingWrites().isEmpty)
        let other = try world.database()
        #expect(try await other.listCollections(source: .server).map(\.path) == ["shared"])
        #expect(
            try db.cacheRuleUsage().map(\.documentCount) == [2, 1])
        let report = try await db.collection("notes").evict()
        #expect(report.keptCount == 1)
        try await db.terminate()
        try await other.terminate()
    }

    @Test("the settings of a shared database make it local")
    func settings() async throws {
        let settings = FirestoreSettings()
        settings.isLocal = true
        settings.localData = .keepLocal
        let copy = try #require(settings.copy() as? FirestoreSettings)
        #expect(copy.isLocal && copy.localData == .keepLocal && copy.isEqual(settings))
        #expect(!FirestoreSettings().isEqual(settings))
        #expect(FirestoreConfiguration.local(directory: place).isLocal)
    }
}
