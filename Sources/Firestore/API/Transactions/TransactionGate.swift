import Dispatch
import LarderModel
import Synchronization

/// Decides when attempts of transactions run, so that none is overtaken for ever.
///
/// First attempts run side by side and are checked when they commit. One that has to be tried again
/// runs alone: it waits for those under way, and others wait for it. On a queue of its own threads,
/// never on Swift's cooperative ones, since the closures block.
final class TransactionGate: Sendable {
    private struct Waiting: Sendable {
        let isExclusive: Bool
        let body: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        var runningCount = 0
        var isExclusive = false

        /// What may start now, in order of arrival.
        mutating func admit() -> [Waiting] {
            var admitted: [Waiting] = []
            while let next = waiting.first, !isExclusive, !next.isExclusive || runningCount == 0 {
                waiting.removeFirst()
                runningCount += 1
                isExclusive = next.isExclusive
                admitted.append(next)
            }
            return admitted
        }
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(
        label: "larder.transactions", qos: .userInitiated, attributes: .concurrent)

    /// Runs an attempt when its turn comes; ``leave()`` is to be called when it has committed or
    /// failed.
    func enter(alone isExclusive: Bool, _ body: @escaping @Sendable () -> Void) {
        start { state in
            state.waiting.append(Waiting(isExclusive: isExclusive, body: body))
        }
    }

    /// Ends an attempt.
    func leave() {
        start { state in
            state.runningCount -= 1
            state.isExclusive = false
        }
    }

    private func start(_ change: (inout State) -> Void) {
        let admitted = state.withLock { state in
            change(&state)
            return state.admit()
        }
        for attempt in admitted { queue.async(execute: attempt.body) }
    }
}
