import Dispatch
public import LarderCore
import Synchronization

/// A pool of threads for blocking work, such as reading a store: a limited number run at a time,
/// further work waits.
///
/// Clients take turns by the time that their work takes, and one client never occupies all threads:
/// whoever asks for much waits for itself. The work of one client runs in order. Pools do not wait
/// for each other, since each has threads of its own; Swift's cooperative threads are too few to wait
/// for a disk.
package final class WorkPool: Sendable {
    /// Identifies a client; nil stands for the server itself.
    package typealias Client = ObjectIdentifier
    private typealias Work = @Sendable () -> Void

    private struct State {
        var queue = FairQueue<Client?, Work>()
        /// The number of threads that work for a client.
        var running: [Client?: Int] = [:]
        /// The threads without work.
        var idle: [DispatchQueue]
    }

    private let limit: Int
    /// The maximum number of threads for one client.
    private let clientLimit: Int
    private let state: Mutex<State>

    /// A pool without running threads.
    package init(_ label: String, limit: Int) {
        self.limit = limit
        clientLimit = max(limit * 3 / 4, 1)
        // Concurrent queues share one thread a processor, which the work of another pool may occupy.
        state = Mutex(
            State(idle: (0..<limit).map { DispatchQueue(label: "\(label).\($0)") }))
    }

    /// Runs a closure on a thread of the pool; returns immediately.
    package func perform(for client: Client? = nil, _ work: @escaping @Sendable () -> Void) {
        let thread = state.withLock { state in
            state.queue.add(work, of: client)
            return state.queue.isReady ? state.idle.popLast() : nil
        }
        if let thread { start(thread) }
    }

    /// Produces a response, or a part of one, on a thread of the pool, once the client of the
    /// connection is not behind; returns immediately.
    package func produce(for origin: CallOrigin?, _ work: @escaping @Sendable () -> Void) {
        perform(for: origin?.client) { [self] in
            if let origin, origin.connection.backlog.waits({ self.produce(for: origin, work) }) {
                return
            }
            work()
        }
    }

    /// Runs a closure on a thread of the pool and returns its result.
    ///
    ///
    /// - Parameters:
    ///   - awaitsClient: whether the work is begun only while the client of the task's connection is
    ///     not behind.
    ///   - isCancelled: set when the task is cancelled; work that has not begun by then is skipped.
    ///     Another caller may set it for a further reason.
    /// - Throws: the closure's error; `cancelled` for skipped work.
    package func run<R: Sendable>(
        awaitsClient: Bool = false, isCancelled: AtomicFlag = AtomicFlag(),
        _ work: @escaping @Sendable () throws(LarderError) -> R
    ) async throws(LarderError) -> R {
        let result: Result<R, LarderError> = await withTaskCancellationHandler {
            await withLoopContinuation { continuation in
                let origin = CallOrigin.current
                let work: @Sendable () -> Void = {
                    continuation.resume(
                        returning: Result { () throws(LarderError) in
                            guard !isCancelled.isSet else { throw .clientHasLeft }
                            return try work()
                        })
                }
                if awaitsClient {
                    produce(for: origin, work)
                } else {
                    perform(for: origin?.client, work)
                }
            }
        } onCancel: {
            isCancelled.set()
        }
        return try result.get()
    }

    private func start(_ thread: DispatchQueue) {
        thread.async {
            while let (client, work) = self.next(on: thread) {
                let start = ContinuousClock.now
                work()
                self.end(of: client, after: ContinuousClock.now - start)
            }
        }
    }

    /// The work of the client whose turn it is; nil, with one more idle thread, if none may run.
    private func next(on thread: DispatchQueue) -> (client: Client?, work: Work)? {
        state.withLock { state in
            guard let (client, work) = state.queue.next() else {
                state.idle.append(thread)
                return nil
            }
            let running = state.running[client, default: 0] + 1
            state.running[client] = running
            if running >= (client == nil ? limit : clientLimit) { state.queue.hold(client) }
            return (client, work)
        }
    }

    private func end(of client: Client?, after time: Duration) {
        state.withLock { state in
            let running = state.running[client, default: 1] - 1
            state.running[client] = running > 0 ? running : nil
            state.queue.charge(time, to: client)
            state.queue.release(client)
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
