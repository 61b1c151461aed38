package import Dispatch
import Synchronization

/// Runs an application's callbacks on a queue, one after the other.
///
/// Callbacks that are added while others wait run in the same work item, so that the events of a
/// turn cost one dispatch.
package final class CallbackQueue: Sendable {
    /// Runs a closure later; the closures of one queue one after the other.
    package typealias Runner = @Sendable (@escaping @Sendable () -> Void) -> Void

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let run: Runner

    /// Runs callbacks by a closure.
    package init(_ run: @escaping Runner) {
        self.run = run
    }

    /// Runs callbacks on a serial queue.
    package convenience init(_ queue: DispatchQueue) {
        self.init { body in queue.async(execute: body) }
    }

    /// Adds a callback after all others.
    package func add(_ body: @escaping @Sendable () -> Void) {
        let mustSchedule = state.withLock { state in
            state.waiting.append(body)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { run { self.drain() } }
    }

    /// Runs what waits now; what is added meanwhile runs in another work item, so that other work
    /// of the queue has its turn.
    private func drain() {
        let bodies = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in bodies { body() }
        let hasMore = state.withLock { state in
            state.isScheduled = !state.waiting.isEmpty
            return state.isScheduled
        }
        if hasMore { run { self.drain() } }
    }
}
