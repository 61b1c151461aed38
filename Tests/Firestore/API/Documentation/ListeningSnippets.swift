import Larder

/// The code in the articles Listeners and Threads.
enum ListeningSnippets {
    static func sequence(_ db: Firestore, _ enough: Int) async throws -> Int {
        // snippet: sequence
        var count = 0
        for try await snapshot in db.collection("cities").snapshots {
            count = snapshot.count
            if count >= enough { break }
        }
        // end
        return count
    }

    static func metadata(
        _ db: Firestore, _ show: @escaping @Sendable (Bool) -> Void
    ) -> any ListenerRegistration {
        // snippet: metadata
        let options = SnapshotListenOptions()
            .withIncludeMetadataChanges(true)
            .withSource(.cache)
        let registration = db.document("cities/SF").addSnapshotListener(options: options) {
            snapshot, _ in
            show(snapshot?.metadata.hasPendingWrites == true)
        }
        // end
        return registration
    }

    static func updates(_ db: Firestore) async throws -> Int {
        // snippet: pending-updates
        for try await writes in db.pendingWriteUpdates {
            return writes.count
        }
        // end
        return -1
    }

    static func inSync(
        _ db: Firestore, _ draw: @escaping @Sendable () -> Void
    ) -> any ListenerRegistration {
        // snippet: in-sync
        let registration = db.addSnapshotsInSyncListener {
            draw()
        }
        // end
        return registration
    }

    static func several(_ db: Firestore) async throws -> Int {
        // snippet: several-reads
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for country in ["FR", "US", "GB"] {
                group.addTask {
                    try await db.collection("cities").whereField("country", isEqualTo: country)
                        .getDocuments(source: .cache).count
                }
            }
            return try await group.reduce(0, +)
        }
        // end
        return counts
    }
}
