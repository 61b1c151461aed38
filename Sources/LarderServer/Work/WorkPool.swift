import Dispatch
import LarderModel
import Synchronization

/// Threads for work that blocks, as reading a store does: never more than a limit at a time, the
/// first that comes first.
///
/// Swift's own threads are too few to wait for a disk.
final class WorkPool: Sendable {
    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
        /// The first of the waiting that has not begun.
        var next = 0
    }

    private let queue: DispatchQueue
    private let limit: Int
    private let state = Mutex(State())

    /// A pool of its own threads.
    init(_ label: String, limit: Int) {
        queue = DispatchQueue(label: label, attributes: .concurrent)
        self.limit = limit
    }

    /// Runs a closure on one of the threads; returns at once.
    func perform(_ work: @escaping @Sendable () -> Void) {
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

    /// Runs a closure on one of the threads, and gives what it gives.
    func run<R: Sendable>(
        _ work: @escaping @Sendable () throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let result: Result<R, LarderError> = await withCheckedContinuation { continuation in
            perform {
                continuation.resume(returning: Result { () throws(LarderError) in try work() })
            }
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

    /// The work that has waited longest; nil, and a thread less is running, where there is none.
    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.next < state.waiting.count else {
                state.waiting = []
                state.next = 0
                state.running -= 1
                return nil
            }
            defer { state.next += 1 }
            if state.next > 1_024 {
                state.waiting.removeFirst(state.next)
                state.next = 0
            }
            return state.waiting[state.next]
        }
    }
}
