import Foundation
import LarderRealtime
import LarderRealtimeBackend

/// The code of the article GettingStarted.
enum RealtimeGettingStartedSnippets {
    static func openLocal(_ directory: String) throws -> Database {
        // snippet: realtime-open-local
        let database = try Database(configuration: .local(directory: directory))
        // end
        return database
    }

    static func open(_ directory: String) throws -> Database {
        // snippet: realtime-open
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.cacheSize = .bytes(50 * 1024 * 1024)
        let database = try Database(configuration: configuration)
        // end
        return database
    }

    /// As the comment of ``DatabaseConfiguration`` has it; compiled only.
    static func openInFixedPlace() throws -> Database {
        // snippet: realtime-open-in-fixed-place
        let configuration = DatabaseConfiguration(directory: "/var/lib/game/realtime")
        let database = try Database(configuration: configuration)
        // end
        return database
    }

    /// Compiled only.
    static func share() -> DatabaseReference {
        // snippet: realtime-share
        Database.database().isPersistenceEnabled = true
        let scores = Database.database().reference(withPath: "scores")
        // end
        return scores
    }

    static func synchronize() throws -> Database {
        // snippet: realtime-backend
        let backend = RealtimeBackend()
        var configuration = DatabaseConfiguration.inMemory
        configuration.backend = backend.connection
        let database = try Database(configuration: configuration)
        // end
        return database
    }

    static func enforceRules(_ configuration: inout DatabaseConfiguration) throws {
        // snippet: realtime-rules
        var server = RealtimeBackendConfiguration()
        server.securityRules = try SecurityRules(
            """
            {"rules": {"players": {"$player": {
              ".read": true,
              ".write": "auth.uid == $player",
              ".validate": "newData.child('score').isNumber()"
            }}}}
            """)
        server.tokens = { token in .valid(RealtimeUser(id: token)) }
        let backend = RealtimeBackend(server)
        configuration.backend = backend.connection
        configuration.tokenProvider = { _ in "ada" }
        // end
    }

    static func write(_ database: Database) -> DatabaseReference {
        // snippet: realtime-write
        let ada = database.reference(withPath: "players/ada")
        ada.setValue(["name": "Ada", "score": 42])
        ada.updateChildValues([
            "score": ServerValue.increment(8),
            "seen": ServerValue.timestamp(),
            "address/city": "London",
        ])
        let message = database.reference(withPath: "messages").childByAutoId()
        message.setValue("hello")
        // end
        return ada
    }

    static func stages(_ ada: DatabaseReference) async throws {
        // snippet: realtime-stages
        let write = ada.enqueueSetValue(["name": "Ada"])
        try await write.committedLocally()
        // end
    }

    /// As the comment of ``DatabaseWrite`` has it; compiled only.
    static func allStages(_ scores: DatabaseReference) async throws {
        // snippet: realtime-all-stages
        let write = scores.child("ada").enqueueSetValue(42)
        try await write.committedLocally()  // durable here, visible to every observer
        try await write.acknowledged()  // the server has it; suspends while offline
        // end
    }

    static func observe(
        _ database: Database, _ show: @escaping (String) -> Void
    ) -> DatabaseHandle {
        // snippet: realtime-observe
        let handle = database.reference(withPath: "players").observe(.value) { snapshot in
            show("\(snapshot.childrenCount) players")
        }
        // end
        return handle
    }

    static func observeChildren(_ database: Database, _ show: @escaping (String) -> Void) {
        // snippet: realtime-observe-children
        database.reference(withPath: "players").observe(.childAdded) { snapshot in
            show("\(snapshot.key) joined")
        }
        // end
    }

    static func sequence(_ database: Database) async throws -> Int? {
        // snippet: realtime-sequence
        for try await snapshot in database.reference(withPath: "players/ada/score").values {
            if let score = snapshot.value as? Int { return score }
        }
        // end
        return nil
    }

    static func query(_ database: Database) async -> [String] {
        // snippet: realtime-query
        let best = database.reference(withPath: "players")
            .queryOrdered(byChild: "score")
            .queryStarting(atValue: 10)
            .queryLimited(toLast: 3)
        let snapshot = await best.observeSingleEvent(of: .value)
        let keys = snapshot.childSnapshots.map(\.key)
        // end
        return keys
    }

    static func transact(_ counter: DatabaseReference) async throws -> (Bool, Int?) {
        // snippet: realtime-transaction
        let (isCommitted, snapshot) = try await counter.runTransactionBlock { data in
            data.value = (data.value as? Int ?? 0) + 1
            return .success(withValue: data)
        }
        // end
        return (isCommitted, snapshot.value as? Int)
    }

    // snippet: realtime-model
    struct Player: Codable {
        var name: String
        var score: Int
        @ServerTimestamp var joined: Date?
    }
    // end

    /// As the comment of ``ServerTimestamp`` has it.
    // snippet: realtime-message
    struct Message: Codable {
        var text: String
        @ServerTimestamp var sent: Date?
    }
    // end

    static func code(_ ada: DatabaseReference) async throws -> Player {
        // snippet: realtime-codable
        try ada.setValue(from: Player(name: "Ada", score: 50, joined: nil))
        let player = try await ada.getData().data(as: Player.self)
        // end
        return player
    }

    /// As the comment of ``DataSnapshot/children`` has it.
    static func children(_ snapshot: DataSnapshot) {
        // snippet: realtime-children
        for case let child as DataSnapshot in snapshot.children { print(child.key) }
        // end
    }
}

/// The code of the articles OfflineBehaviour, Presence, DataOnDisk and ComingFromFirebaseDatabase.
enum RealtimeOfflineSnippets {
    static func four(_ scores: DatabaseReference, _ show: @escaping (String) -> Void) {
        // snippet: realtime-four
        scores.queryOrderedByValue().queryLimited(toLast: 4).observe(.childAdded) { snapshot in
            show("\(snapshot.key) \(snapshot.value ?? "-")")
        }
        // end
    }

    static func two(_ scores: DatabaseReference, _ show: @escaping (String) -> Void) {
        // snippet: realtime-two
        scores.queryOrderedByValue().queryLimited(toLast: 2).observe(.childAdded) { snapshot in
            show("\(snapshot.key) \(snapshot.value ?? "-")")
        }
        // end
    }

    static func confirm(_ scores: DatabaseReference) async throws -> DataSnapshot? {
        // snippet: realtime-confirmed
        let confirmed = try await scores.values.first { !$0.metadata.isFromCache }
        // end
        return confirmed
    }

    static func keep(_ scores: DatabaseReference) {
        // snippet: realtime-keep
        scores.keepSynced(true)
        // end
    }

    static func pending(_ database: Database, _ show: (String) -> Void) async throws {
        // snippet: realtime-pending
        for write in try await database.pendingWrites() {
            show("\(write.changes[0].ref.url), since \(write.writeTime)")
        }
        // end
    }

    static func dead(_ database: Database, _ show: (String) -> Void) async throws {
        // snippet: realtime-dead
        for letter in try await database.deadLetters() {
            show("\(letter.error)")
            try await database.discardDeadLetter(letter.id)
        }
        // end
    }

    static func resume(_ counter: DatabaseReference) {
        // snippet: realtime-resume
        counter.resumeTransactions { data in
            data.value = (data.value as? Int ?? 0) + 1
            return .success(withValue: data)
        }
        // end
    }

    protocol Session: Sendable {
        func token(refreshing: Bool) async throws -> String?
    }

    static func token(_ configuration: inout DatabaseConfiguration, _ session: any Session) {
        // snippet: realtime-token
        configuration.tokenProvider = { isForced in try await session.token(refreshing: isForced) }
        configuration.keepsToken = true
        // end
    }

    static func presence(_ database: Database) {
        // snippet: realtime-presence
        let connections = database.reference(withPath: "users/ada/connections")
        let lastOnline = database.reference(withPath: "users/ada/lastOnline")
        database.reference(withPath: ".info/connected").observe(.value) { snapshot in
            guard snapshot.value as? Bool ?? false else { return }
            let connection = connections.childByAutoId()
            connection.onDisconnectRemoveValue()
            connection.setValue(true)
            lastOnline.onDisconnectSetValue(ServerValue.timestamp())
        }
        // end
    }

    static func durable(_ directory: String) throws -> Database {
        // snippet: realtime-durability
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.cacheSize = .unlimited
        let database = try Database(configuration: configuration)
        // end
        return database
    }

    static func rules(_ configuration: inout DatabaseConfiguration) {
        // snippet: realtime-cache-rules
        configuration.cacheRules = [
            DatabaseCacheRule("menus", isPinned: true),
            DatabaseCacheRule("chats", maximumBytes: 20 << 20, maximumAge: .seconds(604_800)),
            DatabaseCacheRule("chats/lobby"),  // as without a rule
            DatabaseCacheRule("sessions", isNeverCached: true),
            DatabaseCacheRule("drafts", isLocalOnly: true),
        ]
        // end
    }

    static func localOnly(_ database: Database) async throws {
        // snippet: realtime-local-only
        let draft = database.reference(withPath: "drafts/42")
        try await draft.setValue(["to": "ada", "text": "Dear"])  // stays here
        // end
    }

    static func ruleUsage(
        _ database: Database, _ show: (String) -> Void
    ) async throws {
        // snippet: realtime-cache-rule-usage
        for usage in try await database.cacheRuleUsage() {
            show("\(usage.rule.path): \(usage.trackedQueryCount) queries, \(usage.sizeBytes) bytes")
        }
        // end
    }

    static func shared(_ directory: String) throws -> Database {
        // snippet: realtime-shared
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.access = .shared
        let database = try Database(configuration: configuration)
        // end
        return database
    }

    static func misuse(_ database: Database) async throws -> Bool {
        // snippet: realtime-misuse
        let query = database.reference(withPath: "a.b").queryLimited(toFirst: 0)
        do {
            _ = try await query.getData()
        } catch let error as DatabaseError {
            return error.kind == .invalidArgument
        }
        // end
        return false
    }

    static func casts(_ snapshot: DataSnapshot) -> (TimeInterval?, Bool) {
        // snippet: realtime-casts
        let offset = snapshot.value as? TimeInterval
        let flag = snapshot.childSnapshot(forPath: "flag").value as? Bool ?? false
        // end
        return (offset, flag)
    }
}
