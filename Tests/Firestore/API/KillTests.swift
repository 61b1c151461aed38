import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("A killed process loses nothing that was durable")
struct KillTests {
    /// Rounds of writing and killing; `LARDER_KILL_ROUNDS` asks for more.
    private static let rounds =
        ProcessInfo.processInfo.environment["LARDER_KILL_ROUNDS"].flatMap { Int($0) } ?? 8

    @Test("What was reported durable is there after SIGKILL, in order, and nothing half done")
    func kills() async throws {
        let directory = try TemporaryDirectory()
        var random = SeededRandom()
        let seed = random.seed
        var written = 0
        for round in 0..<Self.rounds {
            let reported = try Self.runChild(
                directory.file("store"), seed, written, killAfter: 1 + random.below(150))
            let left = try await Self.check(directory.file("store"), seed)
            #expect(left >= max(reported, written), "round \(round), \(random)")
            written = left
        }
        #expect(written > 0)
    }

    /// Lets a child write until it has reported so many writes, and kills it.
    ///
    /// - Returns: the last write that it reported.
    private static func runChild(
        _ directory: String, _ seed: UInt64, _ done: Int, killAfter count: Int
    ) throws -> Int {
        let child = try ChildProcess([directory, "\(seed)", "\(done)"])
        let lines = try #require(child.kill(after: count))
        return lines.compactMap { Int($0) }.max() ?? 0
    }

    /// Opens the store and compares it with the script.
    ///
    /// - Returns: how many writes are in it.
    private static func check(_ directory: String, _ seed: UInt64) async throws -> Int {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "kill-test"
        let database = try Firestore(configuration: configuration)
        let count = try await database.pendingWrites().count
        let snapshot = try await database.collection("documents").getDocuments(source: .cache)
        let there = Dictionary(
            uniqueKeysWithValues: snapshot.documents.map { document in
                let data = document.data()
                return (
                    document.documentID,
                    WriteScript.Fields(
                        number: data["number"] as? Int, text: data["text"] as? String)
                )
            })
        #expect(there == WriteScript.state(after: count, seed: seed), "after \(count) writes")
        try await database.terminate()
        return count
    }
}
