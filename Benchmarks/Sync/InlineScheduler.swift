import LarderModel
import LarderSync
import Synchronization

/// Runs an engine on the thread that drains it; its timers never fire.
final class InlineScheduler: Scheduler, SerialExecutor {
    /// A closure in a list of closures costs an allocation; in a structure it does not.
    private struct Work {
        let body: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Work] = []
        var running: [Work] = []
    }

    private let state = Mutex(State())

    var executor: any SerialExecutor { self }

    var uptime: Duration { .zero }

    func random() -> Double { 0.5 }

    func run(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.waiting.append(Work(body: body)) }
    }

    func read(_ body: @escaping @Sendable () -> Void) { run(body) }

    func schedule(
        _ timer: EngineTimer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void { {} }

    func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject { self }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        run { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// No check is needed with a single thread.
    func checkIsolated() {}

    /// Runs the queued work and its consequences; does not allocate once warmed up.
    func drain() {
        while true {
            let count = state.withLock { state in
                swap(&state.waiting, &state.running)
                return state.running.count
            }
            if count == 0 { return }
            for position in 0..<count { state.withLock { $0.running[position] }.body() }
            state.withLock { $0.running.removeAll(keepingCapacity: true) }
        }
    }
}
