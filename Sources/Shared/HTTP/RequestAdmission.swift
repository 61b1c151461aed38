import DequeModule
import Synchronization

/// Limits the bytes of large requests that are decoded and served at a time; any thread may use it.
///
/// Only requests that have arrived completely wait, in order: none waits for another client.
package final class RequestAdmission: Sendable {
    private struct Waiter {
        let id: UInt64
        let bytes: Int
        let start: @Sendable (_ id: UInt64) -> Void
    }

    private struct State {
        var held = 0
        var waiting: Deque<Waiter> = []
        var lastID: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the maximum number of bytes, unless one request exceeds it.
    package init(limit: Int) {
        self.limit = limit
    }

    /// The bytes of requests that are served.
    package var heldBytes: Int { state.withLock { $0.held } }

    /// Admits a request, now or later; it must be released.
    ///
    /// - Parameter start: called on any thread with the ID of the wait, once a request that had to
    ///   wait is admitted.
    /// - Returns: the ID of the wait; nil if the request is admitted already.
    package func admit(_ bytes: Int, _ start: @escaping @Sendable (_ id: UInt64) -> Void) -> UInt64?
    {
        state.withLock { state in
            guard !state.waiting.isEmpty || !fits(bytes, state) else {
                state.held += bytes
                return nil
            }
            state.lastID += 1
            state.waiting.append(Waiter(id: state.lastID, bytes: bytes, start: start))
            return state.lastID
        }
    }

    /// Cancels a wait; has no effect if the request is admitted by now.
    package func cancel(_ id: UInt64) {
        start(
            state.withLock { state in
                state.waiting.removeAll { $0.id == id }
                return takeReady(&state)
            })
    }

    /// Releases an admitted request.
    package func release(_ bytes: Int) {
        start(
            state.withLock { state in
                state.held -= bytes
                return takeReady(&state)
            })
    }

    private func start(_ ready: [Waiter]) {
        for waiter in ready { waiter.start(waiter.id) }
    }

    private func fits(_ bytes: Int, _ state: borrowing State) -> Bool {
        state.held == 0 || state.held + bytes <= limit
    }

    private func takeReady(_ state: inout State) -> [Waiter] {
        var ready: [Waiter] = []
        while let first = state.waiting.first, fits(first.bytes, state) {
            state.held += first.bytes
            ready.append(first)
            state.waiting.removeFirst()
        }
        return ready
    }
}
