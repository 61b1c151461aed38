import Larder
import LarderLifecycle
import LarderRealtime
import LarderSharedTestSupport
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite("Databases as services")
struct DatabaseServicesTests {
    @Test("A graceful shutdown terminates the databases, and their writes stay")
    func gracefulShutdown() async throws {
        let directory = try TemporaryDirectory()
        let documents = FirestoreConfiguration(directory: directory.file("documents"))
        let tree = DatabaseConfiguration(directory: directory.file("tree"))
        do {
            let db = try Firestore(configuration: documents)
            let database = try Database(configuration: tree)
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await db.run() }
                    group.addTask { try await database.run() }
                    try await db.document("cities/SF").enqueueSetData(["name": "San Francisco"])
                        .committedLocally()
                    try await database.reference(withPath: "cities/SF")
                        .enqueueSetValue("San Francisco").committedLocally()
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
            await #expect(throws: LarderError.self) { try await db.waitForPendingWrites() }
        }
        let db = try Firestore(configuration: documents)
        #expect(try await db.pendingWrites().count == 1)
        let database = try Database(configuration: tree)
        let name = try await database.reference(withPath: "cities/SF").getData()
        #expect(name.value as? String == "San Francisco")
        try await db.terminate()
        try await database.close()
    }

    @Test("The end of the task terminates the database")
    func cancellation() async throws {
        let db = try Firestore(configuration: .inMemory)
        let task = Task { try await db.run() }
        task.cancel()
        try await task.value
        await #expect(throws: LarderError.self) { try await db.waitForPendingWrites() }
    }
}
