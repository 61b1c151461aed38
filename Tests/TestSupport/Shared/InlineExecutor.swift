import Synchronization

/// An actor's executor whose jobs a test runs on its own thread.
package final class InlineExecutor: SerialExecutor {
    private struct State {
        var isRunning = false
        var enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void = { _ in }
    }

    private let state = Mutex(State())

    /// An executor that drops its jobs until it is attached.
    package init() {}

    /// Hands the jobs that come from now on to a closure.
    package func attach(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        state.withLock { $0.enqueue = enqueue }
    }

    /// Runs a closure as one that is isolated to the actor.
    package func enter(_ body: () -> Void) {
        let wasRunning = state.withLock { state in
            defer { state.isRunning = true }
            return state.isRunning
        }
        body()
        state.withLock { $0.isRunning = wasRunning }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let enqueue = state.withLock { $0.enqueue }
        enqueue { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        precondition(state.withLock { $0.isRunning }, "called from outside the engine")
    }
}
