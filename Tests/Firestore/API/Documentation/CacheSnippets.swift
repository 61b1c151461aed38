import Larder

/// The code in the article CacheTuning.
enum CacheSnippets {
    static func budget(_ directory: String) throws -> Firestore {
        // snippet: budget
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.cacheSize = .bytes(64 * 1024 * 1024)
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func pin(_ db: Firestore) -> any ListenerRegistration {
        // snippet: pin
        let pin = db.collection("menus").whereField("isActive", isEqualTo: true).pin()
        // end
        return pin
    }

    static func rules(_ configuration: inout FirestoreConfiguration) {
        // snippet: rules
        configuration.cacheRules = [
            CacheRule(.collection("menus"), isPinned: true),
            CacheRule(
                .collectionGroup("messages"), maximumBytes: 20 << 20, maximumAge: .seconds(604_800)),
            CacheRule(.collection("rooms/lobby/messages")),  // as without a rule
            CacheRule(.collection("sessions"), isNeverCached: true),
            CacheRule(.collection("drafts"), isLocalOnly: true),
        ]
        // end
    }

    static func evict(_ db: Firestore) async throws -> EvictionReport {
        // snippet: evict
        let report = try await db.collection("logs").whereField("level", isEqualTo: "debug").evict()
        print("\(report.evictedCount) gone, \(report.keptCount) kept, \(report.freedBytes) bytes")
        // end
        return report
    }

    static func usage(_ db: Firestore) throws -> CacheUsage {
        // snippet: usage
        let usage = try db.cacheUsage()
        print("\(usage.totalBytes) bytes of \(usage.limitBytes ?? .max)")
        print("\(usage.documentBytes) in documents, \(usage.pendingWriteBytes) in pending writes")
        // end
        return usage
    }

    static func memory() -> FirestoreSettings {
        // snippet: memory
        let settings = FirestoreSettings()
        settings.cacheSettings = MemoryCacheSettings(
            garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 20 * 1024 * 1024))
        // end
        return settings
    }
}

/// The code in the article IndexesAndExplain.
enum IndexSnippets {
    static func define(_ db: Firestore) async throws {
        // snippet: define
        try await db.setIndexes([
            CacheIndex("cities", [.ascending("country"), .descending("population")]),
            CacheIndex("cities", [.contains("regions"), .descending("population")]),
        ])
        // end
    }

    static func defineOne(_ db: Firestore) async throws {
        // snippet: define-one
        try await db.setIndexes([
            CacheIndex("cities", [.ascending("country"), .descending("population")])
        ])
        // end
    }

    static func defineJSON(_ db: Firestore) async throws {
        // snippet: define-json
        try await db.setIndexConfiguration(
            """
            {"indexes": [{
                "collectionGroup": "cities",
                "fields": [
                    {"fieldPath": "country", "order": "ASCENDING"},
                    {"fieldPath": "population", "order": "DESCENDING"}
                ]
            }]}
            """)
        // end
    }

    static func explain(_ db: Firestore) async throws -> QueryExplanation {
        // snippet: explain
        let query = db.collection("cities")
            .whereField("country", isEqualTo: "FR")
            .order(by: "population", descending: true)
            .limit(to: 3)
        let explanation = try await query.explain()
        print(explanation)
        for alternative in explanation.alternatives {
            print("cost \(Int(alternative.cost.rounded())): \(alternative.plan)")
        }
        // end
        return explanation
    }

    static func automatic(_ db: Firestore) {
        // snippet: automatic
        db.persistentCacheIndexManager?.enableIndexAutoCreation(acrossStarts: true)
        // end
    }

    static func state(_ db: Firestore) throws -> [CacheIndexState] {
        // snippet: index-state
        let incomplete = try db.indexes().filter { !$0.isComplete }
        // end
        return incomplete
    }
}

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

    static func group(_ db: Firestore) async throws {
        // snippet: group
        let writes = (0..<100).map { number in
            db.document("readings/\(number)").enqueueSetData(["value": number])
        }
        for write in writes { try await write.committedLocally() }
        // end
    }
}
