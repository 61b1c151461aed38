import NIOCore
import NIOPosix
import Synchronization

/// Runs tasks where what they wait for happens: a task that an event loop wakes goes on there.
///
/// A call then changes threads only where it must, to wait for a disk. What tasks do between two
/// waits must be short, as anything on an event loop.
final class LoopExecutor: TaskExecutor {
    /// Whether the next task that a thread wakes runs at once.
    private final class Directness: Sendable {
        let isDirect = Atomic(false)
    }

    private static let directness = ThreadSpecificVariable<Directness>()

    private let group: any EventLoopGroup

    /// - Parameter group: runs the tasks that other threads wake.
    init(_ group: any EventLoopGroup) {
        self.group = group
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let directness = Self.directness.currentValue,
            directness.isDirect.exchange(false, ordering: .relaxed)
        {
            return job.runSynchronously(on: asUnownedTaskExecutor())
        }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Lets the task that a closure wakes run at once, where an executor of this kind runs it.
    ///
    /// To be called on an event loop, by nobody who holds a lock.
    fileprivate static func running(_ wake: () -> Void) {
        let directness = directness.currentValue ?? Directness()
        Self.directness.currentValue = directness
        directness.isDirect.store(true, ordering: .relaxed)
        wake()
        directness.isDirect.store(false, ordering: .relaxed)
    }
}

/// What goes on with a task on the event loop where that began to wait, whichever thread has the
/// answer.
struct LoopContinuation<T: Sendable>: Sendable {
    fileprivate let continuation: CheckedContinuation<T, Never>
    fileprivate let loop = MultiThreadedEventLoopGroup.currentEventLoop

    /// Goes on; to be called once.
    func resume(returning value: T) {
        guard let loop, !loop.inEventLoop else { return continuation.resume(returning: value) }
        loop.execute { LoopExecutor.running { continuation.resume(returning: value) } }
    }
}

extension LoopContinuation<Void> {
    /// Goes on; to be called once.
    func resume() {
        resume(returning: ())
    }
}

/// Waits until somebody goes on with what the closure is given.
func withLoopContinuation<T: Sendable>(_ body: (LoopContinuation<T>) -> Void) async -> T {
    await withCheckedContinuation { body(LoopContinuation(continuation: $0)) }
}
