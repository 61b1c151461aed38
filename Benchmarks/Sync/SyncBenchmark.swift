import BenchmarkMeasuring
import Dispatch
import Foundation
import LarderModel
import Synchronization

/// Measures the engine between a store and a backend, and prints the results of every round as
/// JSON.
///
/// A program of Larder's package outside of its products, like that for acknowledgements:
/// `ClientBenchmarks` prepares the stores, runs it, and checks the limits.
@main
struct SyncBenchmark {
    private static let usage = """
        SyncBenchmark apply|first|fanout|drain|idle DIRECTORY ROUNDS COUNT

        For apply and first the directory has a copy of a store of ClientBenchmarks.
        """

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4, let rounds = Int(arguments[2]), rounds > 0,
            let count = Int(arguments[3]), count > 0
        else {
            print(usage)
            exit(64)
        }
        do {
            try measure(arguments[0], arguments[1], rounds, count)
        } catch {
            FileHandle.standardError.write(Data("SyncBenchmark: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func measure(
        _ operation: String, _ directory: String, _ rounds: Int, _ count: Int
    ) throws {
        let figures = Figures()
        switch operation {
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

/// Counts events on other threads, and blocks until a count is reached.
final class Counter: Sendable {
    private struct State {
        var count = 0
        var target = Int.max
    }

    private let state = Mutex(State())
    private let reached = DispatchSemaphore(value: 0)

    var count: Int { state.withLock { $0.count } }

    func add() {
        let isReached = state.withLock { state in
            state.count += 1
            return state.count == state.target
        }
        if isReached { reached.signal() }
    }

    /// Blocks until the count is reached.
    func wait(for target: Int) {
        let isReached = state.withLock { state in
            state.target = state.count < target ? target : Int.max
            return state.target == Int.max
        }
        if !isReached { reached.wait() }
    }
}

/// Blocks until a closure has completed with a result, and returns it.
func blocking<T: Sendable>(_ body: (@escaping @Sendable (T) -> Void) -> Void) -> T? {
    let (result, done) = (Held<T>(), DispatchSemaphore(value: 0))
    body {
        result.put($0)
        done.signal()
    }
    done.wait()
    return result.value
}

private final class Held<T: Sendable>: Sendable {
    private let state = Mutex<T?>(nil)

    var value: T? { state.withLock { $0 } }

    func put(_ value: T) { state.withLock { $0 = value } }
}
