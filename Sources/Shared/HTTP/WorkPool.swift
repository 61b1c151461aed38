import DequeModule
import Dispatch
public import LarderCore
import Synchronization

/// A pool of threads for blocking work, such as reading a store: a limited number run at a time,
/// further work waits in order.
///
/// Swift's cooperative threads are too few to wait for a disk.
package final class WorkPool: Sendable {
    private struct State {
        var running = 0
        var waiting: Deque<@Sendable () -> Void> = []
    }

    private let queue: DispatchQueue
    private let limit: Int
    private let state = Mutex(State())

    /// A pool without running threads.
    package init(_ label: String, limit: Int) {
        queue = DispatchQueue(label: label, attributes: .concurrent)
        self.limit = limit
    }

    /// Runs a closure on a thread of the pool; returns immediately.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            guard state.running == limit else {
                state.running += 1
                return true
            }
            state.waiting.append(work)
            return false
        }
        if starts { start(work) }
    }

    /// Runs a closure on a thread of the pool and returns its result.
    ///
    /// - Parameter isCancelled: set when the task is cancelled; work that has not begun by then is
    ///   skipped. Another caller may set it for a further reason.
    /// - Throws: the closure's error; `cancelled` for skipped work.
    package func run<R: Sendable>(
        isCancelled: AtomicFlag = AtomicFlag(),
        _ work: @escaping @Sendable () throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let result: Result<R, LarderError> = await withTaskCancellationHandler {
            await withLoopContinuation { continuation in
                perform {
                    continuation.resume(
                        returning: Result { () throws(LarderError) in
                            guard !isCancelled.isSet else { throw .clientHasLeft }
                            return try work()
                        })
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        return try result.get()
    }

    private func start(_ work: @escaping @Sendable () -> Void) {
        queue.async {
            var work = work
            while true {
                work()
                guard let next = self.takeNext() else { return }
                work = next
            }
        }
    }

    /// The work that has waited longest; nil, with one thread fewer running, if none waits.
    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.running -= 1 }
            return next
        }
    }
}

extension LarderError {
    /// The error of work whose client no longer waits for a response.
    @usableFromInline
    package static var clientHasLeft: LarderError {
        LarderError(
            .cancelled, "the client has disconnected or cancelled the call",
            domain: LarderError.sharedDomain)
    }
}
