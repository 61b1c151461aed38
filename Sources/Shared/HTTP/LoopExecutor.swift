public import NIOCore
import NIOPosix
public import Synchronization

/// Runs tasks on the event loop where they wait: a task that an event loop resumes continues there.
///
/// A call changes threads only to wait for a disk. Between two suspensions a task must be short, as
/// anything on an event loop.
@usableFromInline
package final class LoopExecutor: TaskExecutor {
    /// Whether the next task that a thread resumes runs inline.
    private final class Inlining: Sendable {
        let isInline = Atomic(false)
    }

    private static let inlining = ThreadSpecificVariable<Inlining>()

    private let group: any EventLoopGroup

    /// - Parameter group: runs the tasks that other threads resume.
    package init(_ group: any EventLoopGroup) {
        self.group = group
    }

    /// Runs a job on the current event loop, or on any of the group.
    @usableFromInline
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let inlining = Self.inlining.currentValue,
            inlining.isInline.exchange(false, ordering: .relaxed)
        {
            return job.runSynchronously(on: asUnownedTaskExecutor())
        }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? group.next()
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs the task that a closure resumes inline, if an executor of this kind runs it.
    ///
    /// Must be called on an event loop, and with no lock held.
    @usableFromInline
    static func inlining(_ resume: () -> Void) {
        let inlining = inlining.currentValue ?? Inlining()
        Self.inlining.currentValue = inlining
        inlining.isInline.store(true, ordering: .relaxed)
        resume()
        inlining.isInline.store(false, ordering: .relaxed)
    }

    @usableFromInline
    static var currentEventLoop: (any EventLoop)? { MultiThreadedEventLoopGroup.currentEventLoop }
}

/// A continuation that resumes its task on the event loop where it suspended, from any thread.
@usableFromInline
package struct LoopContinuation<T: Sendable>: Sendable {
    @usableFromInline let continuation: CheckedContinuation<T, Never>
    @usableFromInline let loop = LoopExecutor.currentEventLoop

    @usableFromInline
    init(continuation: CheckedContinuation<T, Never>) {
        self.continuation = continuation
    }

    /// Resumes the task; must be called exactly once.
    @inlinable
    package func resume(returning value: T) {
        guard let loop, !loop.inEventLoop else { return continuation.resume(returning: value) }
        loop.execute { LoopExecutor.inlining { continuation.resume(returning: value) } }
    }
}

extension LoopContinuation<Void> {
    /// Resumes the task; must be called exactly once.
    @inlinable
    package func resume() {
        resume(returning: ())
    }
}

/// Suspends until the continuation that the closure receives is resumed.
@inlinable
package func withLoopContinuation<T: Sendable>(_ body: (LoopContinuation<T>) -> Void) async -> T {
    await withCheckedContinuation { body(LoopContinuation(continuation: $0)) }
}

extension EventLoop {
    /// Runs a closure on this loop: inline if the calling thread is its own.
    package func executeOrRun(_ body: @escaping @Sendable () -> Void) {
        if inEventLoop { body() } else { execute(body) }
    }
}

// MARK: - Events

/// Delivers events of any thread to an event loop, in order and in batches.
@usableFromInline
package final class LoopEvents<Event: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var events: [Event] = []
        @usableFromInline var listener: (@Sendable () -> Void)?
        /// Whether a call of the listener is scheduled for the events.
        @usableFromInline var isScheduled = false

        @usableFromInline init() {}
    }

    @usableFromInline let state = Mutex(State())
    @usableFromInline let loop: any EventLoop

    /// Events without a listener, which are discarded.
    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Sets the closure to call on the event loop when there are events; once until they are taken.
    @inlinable
    package func listen(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listener = listener }
    }

    /// Adds an event, from any thread; discards it without a listener.
    @inlinable
    package func add(_ event: Event) {
        let isFirst = state.withLock { state in
            guard state.listener != nil else { return false }
            state.events.append(event)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { loop.execute { [self] in state.withLock { $0.listener }?() } }
    }

    @inlinable
    package func take() -> [Event] {
        state.withLock { state in
            defer { (state.events, state.isScheduled) = ([], false) }
            return state.events
        }
    }

    /// Removes the listener and all events.
    @inlinable
    package func close() {
        let removed = state.withLock { state in
            defer { state = State() }
            return state
        }
        // Released outside of the lock: its deinitialiser may add events.
        withExtendedLifetime(removed) {}
    }
}
