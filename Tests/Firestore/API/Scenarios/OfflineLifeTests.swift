import Foundation
import Larder
import LarderBackend
import LarderTestSupport
import Testing

@Suite("A database that lived without a network")
struct OfflineLifeTests {
    @Test(
        "What killed processes wrote offline is read back, and reaches the backend as it was made")
    func offlineAndBack() async throws {
        let directory = try TemporaryDirectory()
        let (store, backend) = (directory.file("store"), directory.file("backend"))
        var random = SeededRandom()
        let seed = random.seed
        var written = 0
        for _ in 0..<3 {
            let child = try TestChild("LarderTestChild", [store, "\(seed)", "\(written)"])
            let lines = try #require(child.kill(after: 1 + random.below(100)))
            let reported = lines.compactMap { Int($0) }.max() ?? 0
            let left = try await readBack(store, seed)
            #expect(left >= max(reported, written), "\(random)")
            written = left
        }
        let expected = WriteScript.state(after: written, seed: seed)

        let online = try TestChild("LarderTestChild", ["online", store, backend])
        #expect(online.finish() == 0, "\(random)")
        #expect(online.lines.first == "pending \(written)")
        // Updates of documents that are not there change nothing at the backend, either.
        let refused = Self.refusedCount(written, seed)
        #expect(online.lines.last == "refused \(refused)", "\(random)")

        // Another client, which has nothing of its own, sees the same.
        let server = try Backend(
            BackendConfiguration(project: "kill-test", location: .directory(backend)))
        var fresh = FirestoreConfiguration.inMemory
        fresh.project = "kill-test"
        fresh.backend = server.connection
        let other = try Firestore(configuration: fresh)
        let there = try await other.collection("documents").getDocuments(source: .server)
        #expect(Self.state(there) == expected, "\(random)")
        try await other.terminate()

        // The database itself agrees, pending nothing.
        let own = try Self.open(store, server.connection)
        let now = try await own.collection("documents").getDocuments(source: .server)
        #expect(Self.state(now) == expected)
        #expect(!now.metadata.hasPendingWrites && now.metadata.freshness.source == .server)
        #expect(try await own.pendingWrites().isEmpty)
        #expect(try await own.deadLetters().allSatisfy { $0.error.kind == .notFound })
        try await own.terminate()
        try await server.close()
    }

    /// Opens the store without a network, and compares it with the script.
    ///
    /// - Returns: how many writes are in it.
    private func readBack(_ store: String, _ seed: UInt64) async throws -> Int {
        let database = try Self.open(store, nil)
        let count = try await database.pendingWrites().count
        let snapshot = try await database.collection("documents").getDocuments()
        #expect(snapshot.metadata.isFromCache)
        #expect(snapshot.documents.allSatisfy { $0.metadata.hasPendingWrites })
        #expect(Self.state(snapshot) == WriteScript.state(after: count, seed: seed))
        try await database.terminate()
        return count
    }

    private static func open(_ store: String, _ backend: RemoteConnection?) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: store)
        configuration.project = "kill-test"
        configuration.backend = backend
        return try Firestore(configuration: configuration)
    }

    private static func state(_ snapshot: QuerySnapshot) -> [String: WriteScript.Fields] {
        Dictionary(
            uniqueKeysWithValues: snapshot.documents.map { document in
                let data = document.data()
                return (
                    document.documentID,
                    WriteScript.Fields(
                        number: data["number"] as? Int, text: data["text"] as? String)
                )
            })
    }

    /// How many writes of the script update a document that is not there.
    private static func refusedCount(_ count: Int, _ seed: UInt64) -> Int {
        var script = WriteScript(seed: seed)
        var refused = 0
        for number in 0..<count {
            guard case .update(let id, _) = script.next() else { continue }
            if WriteScript.state(after: number, seed: seed)[id] == nil { refused += 1 }
        }
        return refused
    }
}
