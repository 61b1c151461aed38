import Foundation
import LarderModel

/// Measures the engine between a store and a backend, and prints the figures of every round as
/// JSON.
///
/// A program of Larder's own package, in none of its products, as the one that acknowledges:
/// `ClientBenchmarks` prepares the stores, runs this, and judges.
@main
struct SyncBenchmark {
    private static let usage =
        "SyncBenchmark apply|first|fanout|drain|idle DIRECTORY ROUNDS COUNT"

    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4, let rounds = Int(arguments[2]), rounds > 0,
            let count = Int(arguments[3]), count > 0
        else {
            print(usage)
            exit(64)
        }
        let directory = arguments[1]
        let figures = Figures()
        switch arguments[0] {
        case "apply": try AppliedSnapshots(directory, figures)(rounds: rounds)
        case "first": try FirstSnapshots(directory: directory, figures: figures)(rounds: rounds)
        case "fanout":
            try ManyListeners(directory: directory, figures: figures, most: max(count, 100))(
                rounds: rounds)
        case "drain":
            try DrainedWrites(
                directory: directory, figures: figures, count: count)(
                    rounds: rounds)
        case "idle": try IdleTransitions(directory: directory, figures: figures)()
        default:
            print(usage)
            exit(64)
        }
        print(String(decoding: try JSONEncoder().encode(figures.all), as: UTF8.self))
    }
}
