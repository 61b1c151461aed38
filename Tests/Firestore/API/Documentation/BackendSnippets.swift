import Larder
import LarderBackend

/// The code in the article OfflineAndBack.
enum BackendSnippets {
    static func open() throws -> Firestore {
        // snippet: open-backend
        let backend = try Backend(BackendConfiguration(project: "cities"))
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "cities"
        configuration.backend = backend.connection
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func disable(_ db: Firestore) async throws -> NetworkState {
        // snippet: network-state
        try await db.disableNetwork()
        let state = db.networkState
        try await db.enableNetwork()
        // end
        return state
    }

    static func retry(_ db: Firestore) async throws {
        // snippet: dead-letters
        for letter in try await db.deadLetters() {
            print("\(letter.id): \(letter.error.message)")
            try await db.retryDeadLetter(letter.id)
        }
        // end
    }

    static func users(_ db: Firestore) async throws {
        // snippet: switch-user
        try await db.switchUser(to: "ada")
        try await db.document("notes/1").setData(["text": "Ada's"])
        try await db.switchUser(to: nil)
        // end
    }
}
