package import Dispatch
package import LarderCore

/// The threads, clock and random numbers of an engine.
///
/// A test's scheduler runs everything on the test's thread, on a manual clock.
package protocol Scheduler<Timer>: Sendable {
    /// The names of the engine's timers.
    associatedtype Timer: Hashable & Sendable

    /// The serial executor to which the engine's state is confined.
    var executor: any SerialExecutor { get }

    /// Monotonic time since an arbitrary moment.
    var uptime: Duration { get }

    /// A random number in 0..<1.
    func random() -> Double

    /// Runs a closure on the executor, after those enqueued before.
    func run(_ body: @escaping @Sendable () -> Void)

    /// Runs a closure on the executor after a delay.
    ///
    /// - Returns: a closure that cancels it, when called on the executor.
    func schedule(
        _ timer: Timer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void

    /// Runs a closure that only reads, concurrently with the executor.
    func read(_ body: @escaping @Sendable () -> Void)

    /// Calls a closure on the executor after each write to a file, until the result is released.
    func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject
}

/// A scheduler on its own dispatch queue and the system's clock.
package final class QueueScheduler<Timer: Hashable & Sendable>: Scheduler {
    private let serial: QueueExecutor
    private let deadlines: Deadlines
    /// For queries of new listeners, which run concurrently with the engine's commits.
    private let readers: DispatchQueue
    private let errorDomain: String

    /// Makes the queues.
    ///
    /// - Parameters:
    ///   - label: prefix of the queues' labels.
    ///   - errorDomain: the domain of the errors of ``watch(_:_:)``.
    package init(label: String, errorDomain: String) {
        serial = QueueExecutor(label: label + ".engine")
        readers = DispatchQueue(
            label: label + ".readers", qos: .userInitiated, attributes: .concurrent)
        deadlines = Deadlines(serial.queue)
        self.errorDomain = errorDomain
    }

    package var executor: any SerialExecutor { serial }

    package var uptime: Duration {
        .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds))
    }

    package func random() -> Double { .random(in: 0..<1) }

    package func run(_ body: @escaping @Sendable () -> Void) {
        serial.queue.async(execute: body)
    }

    package func schedule(
        _ timer: Timer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        deadlines.after(delay, body).cancel
    }

    package func read(_ body: @escaping @Sendable () -> Void) {
        readers.async(execute: body)
    }

    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try FileWatch(
            path: path, queue: serial.queue, errorDomain: errorDomain, onChange: body)
    }
}

/// Runs an actor's jobs on a dispatch queue, so that commits and flushes never occupy a thread of
/// Swift's cooperative pool.
package final class QueueExecutor: SerialExecutor {
    package let queue: DispatchQueue

    package init(label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
