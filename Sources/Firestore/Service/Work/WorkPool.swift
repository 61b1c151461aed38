import DequeModule
import Dispatch
import GRPCCore
import LarderModel
import LarderRemote
import Synchronization

/// Threads for work that blocks, as reading a store does: never more than a limit at a time, the
/// first that comes first.
///
/// Swift's own threads are too few to wait for a disk.
final class WorkPool: Sendable {
    private struct State {
        var running = 0
        var waiting: Deque<@Sendable () -> Void> = []
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
    ///
    /// - Throws: what it throws; `cancelled`, and it is not run, where the call that this is for
    ///   has ended before its turn.
    func run<R: Sendable>(
        _ work: @escaping @Sendable () throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let hasEnded = AtomicFlag()
        // What is answered from its connection ends with its task; of other calls gRPC tells.
        let result: Result<R, LarderError> = await withTaskCancellationHandler {
            await withRPCCancellationHandler {
                await withLoopContinuation { continuation in
                    perform {
                        continuation.resume(
                            returning: Result { () throws(LarderError) in
                                guard !hasEnded.isSet else { throw .clientHasLeft }
                                return try work()
                            })
                    }
                }
            } onCancelRPC: {
                hasEnded.set()
            }
        } onCancel: {
            hasEnded.set()
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
            let next = state.waiting.popFirst()
            if next == nil { state.running -= 1 }
            return next
        }
    }
}

extension LarderError {
    /// The error of a call whose client does not wait for an answer any more.
    static var clientHasLeft: LarderError { LarderError(.cancelled, "the client has left") }
}
