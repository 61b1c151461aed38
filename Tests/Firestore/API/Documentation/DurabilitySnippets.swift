import Larder

/// The code in the article Durability.
enum DurabilitySnippets {
    static func stages(_ db: Firestore) async throws -> Int64? {
        // snippet: stages
        let write = db.document("orders/17").enqueueSetData(["state": "paid"])
        let id = try await write.committedLocally()
        // end
        return id
    }

    /// As the comment of ``WriteHandle`` has it; compiled only, since it waits for a backend.
    static func bothStages(_ db: Firestore) async throws {
        // snippet: both-stages
        let write = db.document("cities/SF").enqueueUpdateData(["population": 860_000])
        try await write.committedLocally()  // durable here, visible to every read and listener
        try await write.acknowledged()  // the backend has it; suspends while offline
        // end
    }

    static func loose(_ directory: String) throws -> Firestore {
        // snippet: last-commit-at-risk
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.durability = .lastCommitAtRisk
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func group(_ db: Firestore) async throws {
        // snippet: group
        let writes = (0..<100).map { number in
            db.document("readings/\(number)").enqueueSetData(["value": number])
        }
        for write in writes { try await write.committedLocally() }
        // end
    }
}
