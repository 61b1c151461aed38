import Foundation
import Synchronization

/// Runs worlds of many seeds and reports violated guarantees.
package struct Simulation<World: SimulatedWorld> {
    private let options: Options

    /// A run with command-line options.
    package init(_ type: World.Type, _ options: Options) {
        self.options = options
    }

    /// Runs the worlds.
    ///
    /// - Returns: the exit status.
    package func run() -> Int32 {
        options.seed.map(runOne) ?? runAll()
    }

    private func runOne(_ seed: UInt64) -> Int32 {
        let outcome = Outcome(
            of: World.self, seed: seed, isPrinting: options.isTracing, isHashing: true)
        print("seed \(seed): \(outcome.violation ?? "all promises kept"), hash \(outcome.hash)")
        return outcome.violation == nil ? 0 : 1
    }

    private func runAll() -> Int32 {
        let start = ContinuousClock.now
        let end = options.seconds.map { start + .seconds($0) }
        let count = end == nil ? options.seeds : .max
        // Printed first, for runs that are interrupted.
        print("the first seed is \(options.first)")
        let sum = Mutex(Summary<World.Fault>())
        let options = options
        DispatchQueue.concurrentPerform(iterations: options.jobs) { job in
            for number in stride(from: job, to: count, by: options.jobs) {
                if let end, ContinuousClock.now >= end { break }
                let outcome = Outcome(of: World.self, seed: options.first + UInt64(number))
                sum.withLock { $0.add(outcome) }
            }
        }
        let summary = sum.withLock { $0 }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        summary.report(seconds: seconds)
        return summary.isGood ? 0 : 1
    }
}
