import BenchmarkMeasuring
import Dispatch
import Foundation
import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync

/// Acknowledges the pending writes of a closed store, as a remote's answers do, and prints what
/// it took as one line of JSON.
///
/// A program of Larder's own package, in none of its products: `ClientBenchmarks`, which uses the
/// public API alone, prepares the store and runs this.
@main
struct AcknowledgementBenchmark {
    private struct Figure: Encodable {
        /// Seconds of all together.
        var wall = 0.0
        var processor = 0.0
        /// Batches acknowledged, and commits that took.
        var count = 0
        var commits = 0
    }

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 3, let directory = arguments.first,
            let group = Int(arguments[2]), group > 0, ["disk", "risk"].contains(arguments[3])
        else {
            print("AcknowledgementBenchmark DIRECTORY GROUP disk|risk")
            exit(64)
        }
        var configuration = StoreConfiguration(directory: directory)
        configuration.durability = arguments[3] == "disk" ? .everyCommit : .lastCommitAtRisk
        let store = try Store(configuration)
        let local = LocalStore(
            store: store, user: .unauthenticated,
            databaseID: DatabaseID(project: "bench"))
        let figure = try acknowledge(in: local, groups: of(group, try local.pendingBatches()))
        try store.close()
        print(String(decoding: try JSONEncoder().encode(figure), as: UTF8.self))
    }

    private typealias Commit = (batchID: Int64, response: CommitResponse)

    private static func of(_ size: Int, _ batches: [MutationBatch]) -> [[Commit]] {
        stride(from: 0, to: batches.count, by: size).map { start in
            batches[start..<min(start + size, batches.count)].map { batch in
                let version = SnapshotVersion(
                    Timestamp(seconds: 1_800_000_000 + batch.id, nanoseconds: 0))
                let results = batch.mutations.map { _ in MutationResult(version: version) }
                return (batch.id, CommitResponse(commitVersion: version, results: results))
            }
        }
    }

    private static func acknowledge(
        in local: LocalStore, groups: [[Commit]]
    ) throws(LarderError) -> Figure {
        let firstCommit = try commitNumber(local.store)
        let start = Elapsed.now
        for group in groups { _ = try local.acknowledge(group) }
        let elapsed = Elapsed.now - start
        return Figure(
            wall: elapsed.wall, processor: elapsed.processor,
            count: groups.reduce(0) { $0 + $1.count },
            commits: Int(try commitNumber(local.store) - firstCommit))
    }

    private static func commitNumber(_ store: Store) throws(LarderError) -> UInt64 {
        try store.read { transaction throws(LarderError) in
            try transaction.statistics().commitNumber
        }
    }
}
