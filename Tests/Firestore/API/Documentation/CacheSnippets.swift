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
