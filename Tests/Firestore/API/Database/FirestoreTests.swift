import Dispatch
import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import Larder

@Suite("Databases: opening, settings, ending")
struct FirestoreTests {
    @Test("A terminated database rejects all operations, and its listeners end")
    func terminating() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        let write = document.enqueueSetData(["n": 1])
        try await write.committedLocally()
        let heard = Recorder<Int>()
        let registration = document.addSnapshotListener { _, _ in heard.record(1) }
        _ = await heard.first(1)
        try await db.terminate()
        try await db.terminate()
        #expect(await code { try await write.acknowledged() } == .cancelled)
        let failures: [LarderError.Code?] = [
            await code { _ = try await document.getDocument() },
            await code { _ = try await document.getDocument(source: .cache) },
            await code { try await document.setData([:]) },
            await code { _ = try await db.collection("a").getDocuments() },
            await code { _ = try await db.collection("a").count.getAggregation(source: .cache) },
            await code { for try await _ in document.snapshots {} },
            await code { _ = try await db.runTransaction { _, _ in nil } },
            await code { try await db.enableNetwork() },
            await code { try await db.disableNetwork() },
            await code { try await db.waitForPendingWrites() },
            await code { _ = try await db.pendingWrites() },
            await code { _ = try db.cacheUsage() },
            await code { try await db.setIndexes([]) },
        ]
        #expect(failures == Array(repeating: .failedPrecondition, count: failures.count))
        registration.remove()
        await db.drainCallbacks()
        #expect(heard.elements.count == 1)
    }

    @Test("Persistence is cleared when nothing uses it, and refused otherwise")
    func clearing() async throws {
        let directory = try TemporaryDirectory()
        let db = try diskDatabase(directory)
        try await db.document("a/x").enqueueSetData(["n": 1]).committedLocally()
        #expect(await code { try await db.clearPersistence() } == .failedPrecondition)
        try await db.terminate()
        try await db.clearPersistence()
        let again = try diskDatabase(directory)
        #expect(try await again.pendingWrites().isEmpty)
        #expect(await code { _ = try await again.document("a/x").getDocument() } == .unavailable)
        let done = Recorder<Int>()
        again.clearPersistence { done.record(($0 as NSError?)?.code ?? 0) }
        again.disableNetwork { done.record(($0 as NSError?)?.code ?? 0) }
        #expect(await done.first(2).sorted() == [0, LarderError.Code.failedPrecondition.rawValue])
    }

    @Test("The network can be switched, which changes nothing that is local")
    func network() async throws {
        let db = try memoryDatabase()
        try await db.disableNetwork()
        try await db.disableNetwork()
        db.document("a/x").enqueueSetData(["n": 1])
        #expect(try await db.document("a/x").getDocument().exists)
        try await db.enableNetwork()
        #expect(try await db.document("a/x").getDocument().exists)
    }

    @Test("A store is open once; a second database on it is refused, a reader is not")
    func openingTwice() async throws {
        let directory = try TemporaryDirectory()
        let db = try diskDatabase(directory)
        #expect(await code { _ = try diskDatabase(directory) } == .failedPrecondition)
        try await db.document("a/x").enqueueSetData(["n": 1]).committedLocally()
        try await db.terminate()
        var configuration = FirestoreConfiguration(directory: directory.file("store"))
        configuration.access = .readOnly
        let reader = try Firestore(configuration: configuration)
        #expect(try await reader.document("a/x").getDocument(source: .cache).exists)
        let write = reader.document("a/x").enqueueSetData(["n": 2])
        #expect(await code { try await write.committedLocally() } == .failedPrecondition)
        configuration = FirestoreConfiguration(directory: directory.file("none"))
        configuration.access = .readOnly
        #expect(await code { _ = try Firestore(configuration: configuration) } == .notFound)
    }

    @Test("Several databases at once keep to themselves")
    func several() async throws {
        let (first, second) = (try memoryDatabase(), try memoryDatabase())
        first.document("a/x").enqueueSetData(["n": 1])
        #expect(try await first.document("a/x").getDocument().exists)
        #expect(await code { _ = try await second.document("a/x").getDocument() } == .unavailable)
        #expect(first != second && first == first && Set([first, first]).count == 1)
    }

    @Test("A cache size below 1 MiB is an invalid argument")
    func cacheSizes() async throws {
        var configuration = FirestoreConfiguration.inMemory
        configuration.cacheSize = .bytes(1_048_575)
        #expect(await code { _ = try Firestore(configuration: configuration) } == .invalidArgument)
        configuration.cacheSize = .bytes(1_048_576)
        #expect(try Firestore(configuration: configuration).cacheUsage().limitBytes == 1_048_576)
        configuration.cacheSize = .unlimited
        #expect(try Firestore(configuration: configuration).cacheUsage().limitBytes == nil)
    }

    @Test("Documents can be pinned, evicted and counted")
    func cachePolicy() async throws {
        let db = try memoryDatabase()
        let items = db.collection("a")
        try await items.document("x").enqueueSetData(["n": 1]).committedLocally()
        let usage = try db.cacheUsage()
        #expect(usage.pendingWriteCount == 1 && usage.pendingWriteBytes > 0)
        #expect(usage.totalBytes > 0 && usage.fileBytes >= 0)
        let pins = [items.pin(), items.document("x").pin(), db.collection("a//b").pin()]
        // A pending write keeps its document.
        #expect(
            try await items.evict() == EvictionReport(evictedCount: 0, keptCount: 1, freedBytes: 0))
        #expect(try await items.document("x").evict().keptCount == 1)
        #expect(await code { _ = try await db.collection("a//b").evict() } == .invalidArgument)
        for pin in pins { pin.remove() }
        #expect(try await items.document("x").getDocument().exists)
    }

    @Test("Settings are copied, compared, and kept once the database is in use")
    func settings() async throws {
        let db = try memoryDatabase()
        let copy = db.settings
        copy.host = "localhost"
        #expect(db.settings.host == "firestore.googleapis.com")
        db.settings = copy
        #expect(db.settings.host == "firestore.googleapis.com", "the database is open")
        #expect(db.settings.cacheSettings is MemoryCacheSettings)
        let settings = FirestoreSettings()
        #expect(settings.isSSLEnabled && settings.isEqual(settings.copy()))
        #expect(settings.cacheSettings.isEqual(PersistentCacheSettings()))
        #expect(
            PersistentCacheSettings(sizeBytes: 5).isEqual(
                PersistentCacheSettings(sizeBytes: 5 as NSNumber)))
        settings.cacheSettings = MemoryCacheSettings(
            garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 7))
        #expect(!settings.isEqual(FirestoreSettings()))
        #expect((settings.cacheSettings as? MemoryCacheSettings)?.policy == .memory(7))
        settings.cacheSettings = MemoryCacheSettings(
            garbageCollectorSettings: MemoryEagerGCSetting())
        #expect((settings.cacheSettings as? MemoryCacheSettings)?.policy == .eagerMemory)
    }

    @available(*, deprecated)
    private func deprecatedSettings() {
        let settings = FirestoreSettings()
        #expect(settings.isPersistenceEnabled && settings.cacheSizeBytes == 104_857_600)
        settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
        #expect(settings.cacheSettings.isEqual(PersistentCacheSettings(sizeBytes: -1)))
        settings.isPersistenceEnabled = false
        #expect(settings.cacheSettings is MemoryCacheSettings && !settings.isPersistenceEnabled)
        settings.isPersistenceEnabled = true
        #expect(settings.cacheSizeBytes == FirestoreCacheSizeUnlimited)
    }

    private protocol Deprecated { func run() }

    private struct DeprecatedSettings: Deprecated {
        @available(*, deprecated)
        func run() { FirestoreTests().deprecatedSettings() }
    }

    @Test("The older switches for persistence and size are another spelling of cache settings")
    func olderSettings() {
        (DeprecatedSettings() as any Deprecated).run()
    }

    @Test("Shared databases are one object each until they are terminated")
    func shared() async throws {
        let options = FirebaseOptions(projectID: "shop")
        FirebaseApp.configure(name: "shared-test", options: options)
        let app = try #require(FirebaseApp.app(name: "shared-test"))
        #expect(app.options.projectID == "shop" && app.name == "shared-test")
        let db = Firestore.firestore(app: app)
        #expect(db === Firestore.firestore(app: app) && db.app === app)
        #expect(db !== Firestore.firestore(app: app, database: "second"))
        let settings = FirestoreSettings()
        settings.cacheSettings = MemoryCacheSettings()
        db.settings = settings
        #expect(db.persistentCacheIndexManager == nil)
        db.document("a/x").enqueueSetData(["n": 1])
        #expect(try await db.document("a/x").getDocument().exists)
        db.useEmulator(withHost: "localhost", port: 8080)
        #expect(db.settings.host == "firestore.googleapis.com", "too late")
        try await db.terminate()
        let next = Firestore.firestore(app: app)
        #expect(next !== db)
        next.useEmulator(withHost: "::1", port: 8080)
        #expect(next.settings.host == "[::1]:8080" && !next.settings.isSSLEnabled)
        #expect(await app.delete())
        #expect(FirebaseApp.app(name: "shared-test") == nil)
        #expect(await !app.delete())
    }

    @Test("A deleted application object's databases end and do not come back")
    func deletedApp() async throws {
        func configure(_ project: String) throws -> FirebaseApp {
            FirebaseApp.configure(
                name: "deleted-test", options: FirebaseOptions(projectID: project))
            return try #require(FirebaseApp.app(name: "deleted-test"))
        }
        func database(_ app: FirebaseApp) -> Firestore {
            let db = Firestore.firestore(app: app)
            let settings = FirestoreSettings()
            settings.cacheSettings = MemoryCacheSettings()
            db.settings = settings
            return db
        }
        let one = try configure("demo-one")
        let first = database(one)
        try await first.document("a/b").enqueueSetData(["n": 1]).committedLocally()
        let second = Firestore.firestore(app: one, database: "other")
        #expect(await one.delete())
        for ended in [first, second, Firestore.firestore(app: one)] {
            #expect(throws: (any Error).self) { try ended.connection.client() }
        }
        let two = try configure("demo-two")
        let next = database(two)
        #expect(next !== first && next.databaseID.project == "demo-two")
        #expect(next === Firestore.firestore(app: two))
        await #expect(throws: (any Error).self) {
            try await next.document("a/b").getDocument(source: .cache)
        }
        #expect(await !one.delete())
        try await next.document("a/c").enqueueSetData(["n": 1]).committedLocally()
        #expect(await two.delete())
    }

    @Test("Every operation reports the error of opening, and the next one retries")
    func openingLater() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("in-the-way")
        try Data("no store".utf8).write(to: URL(fileURLWithPath: file))
        let connection = ClientConnection(FirestoreConfiguration(directory: file))
        #expect(await code { _ = try connection.client() } != nil)
        try FileManager.default.removeItem(atPath: file)
        #expect(await code { _ = try connection.client() } == nil)
        #expect(!connection.configure { $0.makesIndexes = true }, "it is open")
    }

    @Test("The default directory follows the environment")
    func directories() {
        let id = DatabaseID(project: "shop", database: "a/b")
        func path(_ environment: [String: String], app: String = FirebaseApp.defaultName) -> String
        {
            DatabaseDirectory.path(app: app, id, environment: environment, home: "/home/me")
        }
        #expect(path([:]) == "/home/me/.local/share/larder/shop/a%2Fb")
        #expect(path(["XDG_DATA_HOME": "/data"]) == "/data/larder/shop/a%2Fb")
        #expect(path(["XDG_DATA_HOME": "relative"]) == "/home/me/.local/share/larder/shop/a%2Fb")
        #expect(path(["LARDER_DIRECTORY": "/l", "XDG_DATA_HOME": "/d"]) == "/l/shop/a%2Fb")
        #expect(path([:], app: "two") == "/home/me/.local/share/larder/shop/two/a%2Fb")
    }
}
