import Foundation
import LarderApp
import LarderRealtime
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

@Suite("Databases")
struct DatabaseTests {
    @Test("There is one shared database for an application object and a URL")
    func shared() async throws {
        let first = Database.database(url: "https://shared-one.firebaseio.com")
        #expect(first == Database.database(url: "https://shared-one.firebaseio.com/"))
        #expect(first != Database.database(url: "https://shared-two.firebaseio.com"))
        #expect(Database.database() == Database.database())
        #expect(Database.database().reference().url.hasSuffix("-default-rtdb.firebaseio.com"))
        try await first.close()
        #expect(first != Database.database(url: "https://shared-one.firebaseio.com"))
    }

    @Test("An invalid URL fails every operation")
    func invalidURL() async throws {
        for url in ["", "https://", "https://a.firebaseio.com/path"] {
            let database = Database.database(url: url)
            database.callbackQueue = DispatchQueue(label: "test")
            await #expect(throws: DatabaseError.self) {
                try await database.reference(withPath: "a").enqueueSetValue(1).committedLocally()
            }
            database.goOnline()
            database.reference().keepSynced(true)
        }
    }

    @Test("Settings count until the first use")
    func settings() async throws {
        let directory = try TemporaryDirectory()
        let database = Database.database(url: "https://settings-test.firebaseio.com")
        #expect(!database.isPersistenceEnabled)
        #expect(database.persistenceCacheSizeBytes == 10 * 1024 * 1024)
        database.persistenceCacheSizeBytes = 2 << 20
        database.useEmulator(withHost: "localhost", port: 9000)
        #expect(database.reference().url == "http://localhost:9000?ns=settings-test")
        database.callbackQueue = DispatchQueue(label: "settings")
        try await database.reference(withPath: "a").enqueueSetValue(1).committedLocally()
        database.isPersistenceEnabled = true
        database.persistenceCacheSizeBytes = 3 << 20
        #expect(!database.isPersistenceEnabled && database.persistenceCacheSizeBytes == 2 << 20)
        #expect(database.callbackQueue.label == "settings")
        try await database.close()
        try await database.close()
        var small = DatabaseConfiguration(directory: directory.file("small"))
        small.cacheSize = .bytes(1000)
        #expect(throws: DatabaseError.self) { try Database(configuration: small) }
    }

    @Test("A store is open once; closing it makes it free")
    func exclusive() async throws {
        let directory = try TemporaryDirectory()
        let configuration = DatabaseConfiguration(directory: directory.file("store"))
        let first = try Database(configuration: configuration)
        #expect(throws: DatabaseError.self) { try Database(configuration: configuration) }
        try await first.close()
        let second = try Database(configuration: configuration)
        try await second.close()
    }

    @Test("A database that is let go closes its store, observers or not")
    func release() async throws {
        let directory = try TemporaryDirectory()
        let configuration = DatabaseConfiguration(directory: directory.file("store"))
        do {
            let database = try Database(configuration: configuration)
            database.reference(withPath: "a").observe(.value) { _ in }
            try await database.reference(withPath: "a").enqueueSetValue(1).committedLocally()
        }
        try await withDeadline(.seconds(60)) {
            while true {
                do {
                    let again = try Database(configuration: configuration)
                    let pending = try await again.pendingWrites()
                    #expect(pending.count == 1)
                    try await again.close()
                    return
                } catch { await Task.yield() }
            }
        }
    }

    @Test("Errors are NSErrors of Apple's domain")
    func errors() async throws {
        let test = try DatabaseUnderTest()
        test.database.reference(withPath: "a.b").setValue(1) { error, _ in
            let error = error as NSError?
            #expect(error?.domain == "com.firebase" && error?.code == 9999)
            #expect(error?.localizedDescription.contains("a.b") == true)
            do {
                if let error { throw error }
            } catch let error as NSError {
                test.note("\(error.domain) \((error as? DatabaseError)?.kind as Any)")
            }
        }
        #expect(test.read() == ["com.firebase Optional(invalidArgument)"])
    }

    @Test("The state of the connection has its reason")
    func connectionState() async throws {
        let local = try DatabaseUnderTest()
        #expect(local.database.connectionState.reason == .noBackend)
        let world = DatabaseWorld()
        world.backend.refuseConnections(
            with: DatabaseTests.refusal)
        let client = try world.client()
        #expect(client.database.connectionState.status == .disconnected)
        if case .failed(let error) = client.database.connectionState.reason {
            #expect(error.code == 2)
        } else {
            Issue.record("it has another reason")
        }
        world.backend.refuseConnections(with: nil)
        world.advance(by: .seconds(2))
        #expect(client.database.connectionState.status == .connected)
        client.database.goOffline()
        world.drain()
        #expect(client.database.connectionState.reason == .disabled)
        client.database.goOnline()
        world.drain()
        world.backend.shutDownConnections(reason: "maintenance")
        world.drain()
        #expect(client.database.connectionState.reason == .serverShutdown)
        world.advance(by: .seconds(600))
        #expect(client.database.connectionState.status == .disconnected)
        client.database.goOnline()
        world.drain()
        #expect(client.database.connectionState.status == .connected)
        world.backend.resetConnections(host: "other")
        world.drain()
        #expect(client.database.connectionState.status == .connected, "it connects again at once")
    }

    private static let refusal = LarderError(
        .unavailable, "no connections today", domain: "com.firebase")
}
