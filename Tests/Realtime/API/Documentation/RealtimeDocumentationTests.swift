import Foundation
import LarderRealtime
import LarderRealtimeBackend
import LarderSharedTestSupport
import Testing

/// The code that the articles show does what they say.
@Suite("Articles of the Realtime Database")
struct RealtimeDocumentationTests {
    private typealias Start = RealtimeGettingStartedSnippets
    private typealias Offline = RealtimeOfflineSnippets

    private func database() throws -> Database {
        var configuration = DatabaseConfiguration.inMemory
        configuration.callbackQueue = DispatchQueue(label: "documentation")
        return try Database(configuration: configuration)
    }

    @Test("the README's example finds the scores that it wrote")
    func readme() async throws {
        let directory = try TemporaryDirectory()
        #expect(
            try await bestScores(in: directory.file("scores")) == ["linhenykus", "pterodactyl"])
    }

    @Test("GettingStarted: databases in a directory and with a backend")
    func opening() async throws {
        let directory = try TemporaryDirectory()
        let database = try Start.open(directory.file("store"))
        #expect(try await database.usage().limitBytes == 50 * 1024 * 1024)
        #expect(database.connectionState.reason == .noBackend)
        try await database.close()
        let synchronized = try Start.synchronize()
        try await withDeadline(.seconds(60)) {
            try await synchronized.reference(withPath: "a").setValue(1)
            #expect(synchronized.connectionState.status == .connected)
            #expect(try await synchronized.reference(withPath: "a").getData().value as? Int == 1)
            let confirmed = try await Offline.confirm(synchronized.reference(withPath: "a"))
            #expect(confirmed?.value as? Int == 1)
        }
        try await synchronized.close()
    }

    @Test("GettingStarted: a local database, whose writes are final")
    func local() async throws {
        let directory = try TemporaryDirectory()
        let database = try Start.openLocal(directory.file("store"))
        try await withDeadline(.seconds(60)) { () async throws in
            let ada = Start.write(database)
            #expect(
                try await ada.getData().childSnapshot(forPath: "score").value as? Int == 50)
            #expect(await Start.query(database) == ["ada"])
            #expect(
                try await Start.transact(database.reference(withPath: "counter")) == (true, 1))
            #expect(try await database.pendingWrites().isEmpty)
        }
        try await database.close()
    }

    @Test("GettingStarted: rules decide what a user may write")
    func rules() async throws {
        var configuration = DatabaseConfiguration.inMemory
        configuration.callbackQueue = DispatchQueue(label: "documentation")
        try Start.enforceRules(&configuration)
        let database = try Database(configuration: configuration)
        try await withDeadline(.seconds(60)) {
            try await database.reference(withPath: "players/ada").setValue(["score": 1])
            for (path, value) in [("players/ada", ["score": "x"]), ("players/bob", ["score": "1"])]
            {
                await #expect(throws: DatabaseError.self) {
                    try await database.reference(withPath: path).setValue(value)
                }
            }
        }
        try await database.close()
    }

    @Test("GettingStarted: writing, observing, querying, transactions and models")
    func gettingStarted() async throws {
        let database = try Start.synchronize()
        try await withDeadline(.seconds(60)) {
            let ada = Start.write(database)
            let data = try await ada.getData()
            #expect(data.childSnapshot(forPath: "score").value as? Int == 50)
            #expect(data.childSnapshot(forPath: "address/city").value as? String == "London")
            #expect(try await Start.sequence(database) == 50)
            #expect(await Start.query(database) == ["ada"])
            try await Start.stages(ada)
            #expect(await Start.query(database).isEmpty)
            let counter = database.reference(withPath: "counter")
            #expect(try await Start.transact(counter) == (true, 1))
            let player = try await Start.code(ada)
            #expect(player.name == "Ada" && player.joined != nil)
        }
        try await database.close()
    }

    @Test("GettingStarted: observers are called with the data, then with changes")
    func observing() throws {
        let test = try DatabaseUnderTest()
        _ = Start.observe(test.database) { test.note($0) }
        Start.observeChildren(test.database) { test.note($0) }
        test.database.reference(withPath: "players").setValue(["ada": 1])
        test.database.reference(withPath: "players/grace").setValue(2)
        #expect(
            test.read() == ["ada joined", "1 players", "grace joined", "2 players"])
    }

    @Test("OfflineBehaviour: the outbox, dead letters, a kept location, a resumed transaction")
    func outbox() async throws {
        let database = try database()
        let scores = database.reference(withPath: "scores")
        Offline.keep(scores)
        try await scores.enqueueSetValue(["a": 1]).committedLocally()
        let lines = Box<[String]>([])
        try await Offline.pending(database) { line in lines.withLock { $0.append(line) } }
        #expect(lines.withLock { $0.count } == 1)
        try await Offline.dead(database) { line in lines.withLock { $0.append(line) } }
        #expect(lines.withLock { $0.count } == 1)
        Offline.resume(database.reference(withPath: "counter"))
        try await database.close()
    }

    @Test("OfflineBehaviour: windows of four and two; tokens of the configuration")
    func windows() async throws {
        let test = try DatabaseUnderTest()
        let scores = test.database.reference(withPath: "scores")
        scores.updateChildValues(["a": 1, "b": 2, "c": 3, "d": 4, "e": 5]) { _, _ in }
        Offline.four(scores) { test.note("4: " + $0) }
        Offline.two(scores) { test.note("2: " + $0) }
        #expect(
            test.read() == ["4: b 2", "4: c 3", "4: d 4", "4: e 5", "2: d 4", "2: e 5"])
        struct Session: Offline.Session {
            func token(refreshing: Bool) async throws -> String? { refreshing ? "new" : "old" }
        }
        var configuration = DatabaseConfiguration.inMemory
        Offline.token(&configuration, Session())
        #expect(try await configuration.tokenProvider?(true) == "new" && configuration.keepsToken)
    }

    @Test("Presence: an entry while connected")
    func presence() throws {
        let world = DatabaseWorld()
        let client = try world.client()
        Offline.presence(client.database)
        world.drain()
        #expect(world.data(at: "users/ada/connections").contains("true"))
        client.database.goOffline()
        #expect(world.data(at: "users/ada/connections") == "null")
        #expect(world.data(at: "users/ada/lastOnline") != "null")
    }

    @Test("DataOnDisk: cache rules and their usage")
    func cacheRules() async throws {
        var configuration = DatabaseConfiguration.inMemory
        Offline.rules(&configuration)
        let database = try Database(configuration: configuration)
        let lines = Box<[String]>([])
        try await Offline.ruleUsage(database) { line in lines.withLock { $0.append(line) } }
        let rules = ["menus", "chats", "chats/lobby", "sessions", "drafts"]
        #expect(lines.withLock { $0 } == rules.map { "\($0): 0 queries, 0 bytes" })
        // Acknowledged without a backend.
        try await Offline.localOnly(database)
        #expect(try await database.pendingWrites().isEmpty)
        let draft = try await database.reference(withPath: "drafts/42/to").getData()
        #expect(draft.value as? String == "ada")
        try await database.close()
    }

    @Test("DataOnDisk and ComingFromFirebaseDatabase: durability, misuse, casts")
    func migration() async throws {
        let directory = try TemporaryDirectory()
        let durable = try Offline.durable(directory.file("store"))
        #expect(try await durable.usage().limitBytes == nil)
        #expect(try await Offline.misuse(durable))
        let place = durable.reference(withPath: "a")
        place.enqueueSetValue(["flag": true])
        #expect(Offline.casts(await place.observeSingleEvent(of: .value)) == (nil, true))
        place.enqueueSetValue(7)
        #expect(Offline.casts(await place.observeSingleEvent(of: .value)) == (7, false))
        try await durable.close()
        let shared = try Offline.shared(directory.file("store"))
        let value = await shared.reference(withPath: "a").observeSingleEvent(of: .value)
        #expect(value.value as? Int == 7)
        #expect(try await shared.pendingWrites().count == 2)
        try await shared.close()
    }
}
