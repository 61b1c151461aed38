import BenchmarkMeasuring
import Foundation

/// Measures the Realtime Database's sync tree and the hashes of its nodes, and prints the results
/// of every round as JSON.
///
/// A program of Larder's package outside of its products: `ClientBenchmarks` runs it and checks the
/// limits.
@main
struct RealtimeSyncBenchmark {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 3, let rounds = Int(arguments[1]), rounds > 0,
            let count = Int(arguments[2]), count >= 1_000
        else { exitWithUsage() }
        let figures = Figures()
        switch arguments[0] {
        case "scores-change": try ChangedScores(figures: figures, count: count)(rounds: rounds)
        case "pending-writes": try PendingWrites(figures: figures, count: count)(rounds: rounds)
        case "tree-hash": ChangedHashes(figures: figures, count: count)(rounds: rounds)
        default: exitWithUsage()
        }
        print(String(decoding: try JSONEncoder().encode(figures.all), as: UTF8.self))
    }

    private static func exitWithUsage() -> Never {
        print("RealtimeSyncBenchmark scores-change|pending-writes|tree-hash ROUNDS COUNT")
        exit(64)
    }
}
