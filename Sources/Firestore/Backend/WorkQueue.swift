import Dispatch

/// Runs a backend's work piece by piece, in order, on one thread at a time: on a dispatch queue,
/// or wherever a simulation wants it.
final class WorkQueue: SerialExecutor {
    /// Takes a piece of work, to run it behind all that was taken before.
    typealias Enqueue = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    private let enqueue: Enqueue

    /// A queue of its own, or one that is given.
    init(_ enqueue: Enqueue?) {
        guard let enqueue else {
            let queue = DispatchQueue(label: "larder.backend", qos: .userInitiated)
            self.enqueue = { queue.async(execute: $0) }
            return
        }
        self.enqueue = enqueue
    }

    /// Runs a closure behind all that came before.
    func async(_ work: @escaping @Sendable () -> Void) {
        enqueue(work)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enqueue { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Nothing is to be checked: isolation is assumed in closures of ``async(_:)`` alone.
    func checkIsolated() {}
}
