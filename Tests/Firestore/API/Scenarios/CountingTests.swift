import Foundation
import Larder
import LarderBackend
import LarderTestSupport
import Testing

@Suite("Increments of killed processes")
struct CountingTests {
    /// Rounds of writing and killing; `LARDER_KILL_ROUNDS` asks for more.
    private static let rounds =
        ProcessInfo.processInfo.environment["LARDER_KILL_ROUNDS"].flatMap { Int($0) } ?? 6

    @Test("All count once, whatever had been answered when the client and the backend were killed")
    func once() async throws {
        let directory = try TemporaryDirectory()
        let (store, folder) = (directory.file("store"), directory.file("backend"))
        var random = SeededRandom()
        var reported = 0
        for _ in 0..<Self.rounds {
            let child = try TestChild("LarderTestChild", ["count", store, folder])
            reported += try #require(child.kill(after: 1 + random.below(300))).count
        }
        let backend = try Backend(
            BackendConfiguration(project: "kill-test", location: .directory(folder)))
        var configuration = FirestoreConfiguration(directory: store)
        configuration.project = "kill-test"
        configuration.backend = backend.connection
        let database = try Firestore(configuration: configuration)
        try await database.waitForPendingWrites()
        let documents = try await database.collection("counted").getDocuments(source: .server)
        let sum = documents.documents.first { $0.documentID == "sum" }?.get("n") as? Int
        #expect(sum == documents.count - 1, "\(random)")
        #expect(documents.count - 1 >= reported, "\(random)")
        #expect(try await database.deadLetters().isEmpty)
        try await database.terminate()
        try await backend.close()
    }
}
