import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@Suite("A store that becomes a local database, and one that is given a backend")
struct LocalDatabaseOpeningTests {
    private let folder: LocalDatabaseFolder

    init() throws {
        folder = try LocalDatabaseFolder()
    }

    @Test("a store stays a local database, also when it is opened without that")
    func reopening() async throws {
        var db = try folder.open()
        try await db.document("c/a").setData(["n": 1])
        try await db.terminate()
        db = try folder.open(isLocal: false)
        try await db.document("c/b").setData(["n": 2])
        #expect(try await db.pendingWrites().isEmpty)
        #expect(try await !db.document("c/none").getDocument().exists)
        try await db.terminate()
        #expect(try folder.role() == .local)
        db = try folder.open(isLocal: false) { $0.access = .readOnly }
        #expect(try await !db.document("c/none").getDocument(source: .server).exists)
        #expect(try await folder.numbers(db, "c") == ["c/a": 1, "c/b": 2])
        try await db.terminate()
    }

    @Test("a configuration with a backend contradicts it")
    func contradiction() async throws {
        let world = try World()
        #expect(
            await code { _ = try folder.open { $0.backend = world.network.connection } }
                == .invalidArgument)
    }

    @Test("pending writes become final in their order when the database becomes local")
    func pending() async throws {
        var db = try folder.open(isLocal: false)
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
        #expect(try folder.role() == .cache)
        db = try folder.open()
        #expect(try await folder.numbers(db, "c") == ["c/a": 1_401, "c/b": 5])
        #expect(try await db.pendingWrites().isEmpty)
        #expect(try db.cacheUsage().pendingWriteCount == 0)
        let letters = try await db.deadLetters()
        #expect(letters.map(\.error.kind) == [.notFound])
        try await db.document("c/none").setData(["n": 0])
        let handle = try #require(try await db.retryDeadLetter(letters[0].id))
        try await handle.acknowledged()
        #expect(handle.batchID == nil)
        #expect(try await folder.numbers(db, "c")["c/none"] == 1)
        #expect(try await db.deadLetters().isEmpty)
        try await db.terminate()
        #expect(try folder.role() == .local)
    }

    @Test("a cache of a backend is refused as a local database, and stays what it is")
    func cache() async throws {
        let world = try World()
        var configuration = FirestoreConfiguration(directory: folder.place)
        configuration.durability = .lastCommitAtRisk
        var db = try world.database(configuration)
        try await db.document("c/a").setData(["n": 1])
        try await db.document("c/b").setData(["n": 2])
        #expect(try await db.collection("c").getDocuments(source: .server).count == 2)
        world.network.set(.down)
        try await db.document("c/a").enqueueUpdateData(["n": 3]).committedLocally()
        try await db.terminate()
        let error = #expect(throws: LarderError.self) { try folder.open() }
        #expect(error?.kind == .failedPrecondition)
        #expect(error?.message.contains("cache of a backend") == true)
        #expect(try folder.role() == .cache)
        db = try world.database(configuration)
        #expect(try await db.pendingWrites().count == 1)
        try await db.terminate()
    }

    @Test("documents that were local only, and an import, become final")
    func conversions() async throws {
        var db = try folder.open(isLocal: false) {
            $0.cacheRules = [CacheRule(.collection("drafts"), isLocalOnly: true)]
        }
        try await db.document("drafts/a").setData(["n": 1])
        try await db.document("c/a").enqueueSetData(["n": 2]).committedLocally()
        try await db.terminate()
        db = try folder.open()
        #expect(try await folder.numbers(db, "c", "drafts") == ["drafts/a": 1, "c/a": 2])
        try await db.terminate()
        let store = try Store(StoreConfiguration(directory: folder.place))
        try store.write { (transaction) throws(LarderError) in
            try transaction.putRole(.imported)
        }
        try store.close()
        db = try folder.open()
        #expect(try await folder.numbers(db, "c", "drafts") == ["drafts/a": 1, "c/a": 2])
        try await db.terminate()
        #expect(try folder.role() == .local)
    }

    @Test("a bundle is refused, since it would replace final documents")
    func bundle() async throws {
        let db = try folder.open()
        let error = await code { _ = try await db.loadBundle(Data("12{}".utf8)) }
        #expect(error == .failedPrecondition)
    }

    // MARK: A backend

    private func connected(
        _ world: World, _ change: (inout FirestoreConfiguration) -> Void
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: folder.place)
        configuration.durability = .lastCommitAtRisk
        change(&configuration)
        return try world.database(configuration)
    }

    private func fill() async throws {
        let db = try folder.open()
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
        #expect(try folder.role() == .local)
        let db = try folder.open(isLocal: false)
        #expect(try await folder.numbers(db, "c").count == 599)
        try await db.terminate()
    }

    @Test("an empty local database needs no choice")
    func empty() async throws {
        let db = try folder.open()
        try await db.document("c/a").setData(["n": 1])
        try await db.document("c/a").delete()
        try await db.terminate()
        let world = try World()
        try await connected(world) { _ in }.terminate()
        #expect(try folder.role() == .cache)
    }

    @Test("its documents are pushed to a backend, in folder.place of those of the same names")
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
        #expect(try await folder.numbers(db, "c").count == 599)
        #expect(try await folder.numbers(db, "c")["c/3"] == 3)
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
        #expect(try folder.role() == .cache)
        let again = try connected(world) { _ in }
        #expect(try await again.pendingWrites().isEmpty)
        try await again.terminate()
    }

    @Test("a push that ends in the middle is made final or goes on")
    func interruptedPush() async throws {
        try await fill()
        let store = try Store(StoreConfiguration(directory: folder.place))
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
        let db = try folder.open()
        #expect(try await folder.numbers(db, "c")["c/5"] == 5)
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
        #expect(try await folder.numbers(db, "c").count == 599)
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
        #expect(try await folder.numbers(db, "c").count == 600)
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
        #expect(FirestoreConfiguration.local(directory: folder.place).isLocal)
    }
}
