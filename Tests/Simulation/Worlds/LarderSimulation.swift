import Foundation
import LarderModel
import Synchronization

/// Lets worlds of many seeds live, and tells of the promises that were broken in them.
///
/// Arguments: `--seeds COUNT` (2,000), `--first SEED` (1) to begin with another one, `--seconds
/// COUNT` to begin worlds for so long, of seeds that were never used unless the first one is named,
/// `--jobs COUNT` threads, `--seed SEED` for one world alone, and `--trace` to print all that
/// happens.
@main
struct LarderSimulation {
    static func main() {
        let options = Options(CommandLine.arguments.dropFirst())
        exit(options.seed.map { runOne($0, options) } ?? runAll(options))
    }

    private static func runOne(_ seed: UInt64, _ options: Options) -> Int32 {
        let outcome = Outcome(seed: seed, isPrinting: options.isTracing, isHashing: true)
        print("seed \(seed): \(outcome.violation ?? "all promises kept"), hash \(outcome.hash)")
        return outcome.violation == nil ? 0 : 1
    }

    private static func runAll(_ options: Options) -> Int32 {
        let start = ContinuousClock.now
        let end = options.seconds.map { start + .seconds($0) }
        let count = end == nil ? options.seeds : .max
        // Now, for a run that does not come to its end.
        print("the first seed is \(options.first)")
        let sum = Mutex(Summary())
        DispatchQueue.concurrentPerform(iterations: options.jobs) { job in
            for number in stride(from: job, to: count, by: options.jobs) {
                if let end, ContinuousClock.now >= end { break }
                let outcome = Outcome(seed: options.first + UInt64(number))
                sum.withLock { $0.add(outcome) }
            }
        }
        let summary = sum.withLock { $0 }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        summary.report(seconds: seconds)
        return summary.isGood ? 0 : 1
    }
}
