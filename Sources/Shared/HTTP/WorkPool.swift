import DequeModule
import Dispatch
public import LarderCore
import Synchronization

/// A pool of threads for blocking work, such as reading a store: a limited number run at a time,
/// further work waits.
///
/// Clients take turns, and one client never occupies all threads: whoever asks for much waits for
/// itself. The work of one client runs in order. Swift's cooperative threads are too few to wait for
/// a disk.
package final class WorkPool: Sendable {
    /// Identifies a client; nil stands for the server itself.
    package typealias Client = ObjectIdentifier
    private typealias Work = @Sendable () -> Void

    /// The work of a client.
    private struct Queue {
        var running = 0
        var waiting: Deque<Work> = []
    }

    private struct State {
        var running = 0
        var queues: [Client?: Queue] = [:]
        /// The clients with waiting work, next first.
        var turns: Deque<Client?> = []
    }

    private let queue: DispatchQueue
    private let limit: Int
    /// The maximum number of threads for one client.
    private let clientLimit: Int
    private let state = Mutex(State())

    /// A pool without running threads.
    package init(_ label: String, limit: Int) {
        queue = DispatchQueue(label: label, attributes: .concurrent)
        self.limit = limit
        clientLimit = max(limit * 3 / 4, 1)
    }

    /// Runs a closure on a thread of the pool; returns immediately.
    package func perform(for client: Client? = nil, _ work: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            if mayRun(client, state), state.queues[client]?.waiting.isEmpty != false {
                begin(client, &state)
                return true
            }
            if state.queues[client]?.waiting.isEmpty != false { state.turns.append(client) }
            state.queues[client, default: Queue()].waiting.append(work)
            return false
        }
        if starts { start(work, client) }
    }

    private func mayRun(_ client: Client?, _ state: borrowing State) -> Bool {
        let running = state.queues[client]?.running ?? 0
        return state.running < limit && running < (client == nil ? limit : clientLimit)
    }

    private func begin(_ client: Client?, _ state: inout State) {
        state.running += 1
        state.queues[client, default: Queue()].running += 1
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
                perform(for: CallOrigin.current?.client) {
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

    private func start(_ work: @escaping @Sendable () -> Void, _ client: Client?) {
        queue.async {
            var (work, client) = (work, client)
            while true {
                work()
                guard let next = self.takeNext(after: client) else { return }
                (work, client) = next
            }
        }
    }

    /// The work of the client whose turn it is; nil, with one thread fewer running, if none may run.
    private func takeNext(after client: Client?) -> (work: Work, client: Client?)? {
        state.withLock { state in
            state.running -= 1
            let isIdle = state.queues[client].map { $0.running == 1 && $0.waiting.isEmpty } ?? false
            if isIdle {
                state.queues[client] = nil
            } else {
                state.queues[client]?.running -= 1
            }
            guard let position = state.turns.firstIndex(where: { mayRun($0, state) }) else {
                return nil
            }
            let next = state.turns.remove(at: position)
            guard let work = state.queues[next]?.waiting.popFirst() else { return nil }
            begin(next, &state)
            if state.queues[next]?.waiting.isEmpty == false { state.turns.append(next) }
            return (work, next)
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
