import DequeModule
package import NIOCore
import Synchronization

/// Limits the bytes of requests in progress; any thread may use it.
///
/// Requests beyond the limit wait in order of arrival. Small ones never wait, so that large
/// requests do not delay them.
package final class RequestBudget: Sendable {
    /// The size up to which a request never waits.
    package static let smallBytes = 64 << 10

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

    /// - Parameter limit: the most bytes to hold at a time.
    package init(limit: Int) {
        self.limit = limit
    }

    package var heldBytes: Int { state.withLock { $0.held } }

    /// Holds the bytes of a small request.
    func holdSmall(_ bytes: Int) {
        state.withLock { $0.held += bytes }
    }

    /// Holds bytes, now or later.
    ///
    /// - Parameters:
    ///   - bytes: how many; at most the limit.
    ///   - start: called on any thread with the ID of the wait, once bytes are held that were not
    ///     available immediately.
    /// - Returns: the ID of the wait; nil if the bytes are held already.
    func hold(_ bytes: Int, _ start: @escaping @Sendable (_ id: UInt64) -> Void) -> UInt64? {
        state.withLock { state in
            let hasRoom = state.waiting.isEmpty && state.held + bytes <= limit
            guard !hasRoom else {
                state.held += bytes
                return nil
            }
            state.lastID += 1
            state.waiting.append(Waiter(id: state.lastID, bytes: bytes, start: start))
            return state.lastID
        }
    }

    /// Cancels a wait.
    ///
    /// - Returns: false if the bytes are held by now.
    func cancel(_ id: UInt64) -> Bool {
        let (hasWaited, ready) = state.withLock { state -> (Bool, [Waiter]) in
            guard let position = state.waiting.firstIndex(where: { $0.id == id }) else {
                return (false, [])
            }
            state.waiting.remove(at: position)
            return (true, Self.takeReady(&state, limit))
        }
        for waiter in ready { waiter.start(waiter.id) }
        return hasWaited
    }

    /// Releases bytes that were held.
    func release(_ bytes: Int) {
        let ready = state.withLock { state in
            state.held -= bytes
            return Self.takeReady(&state, limit)
        }
        for waiter in ready { waiter.start(waiter.id) }
    }

    private static func takeReady(_ state: inout State, _ limit: Int) -> [Waiter] {
        var ready: [Waiter] = []
        while let first = state.waiting.first, state.held + first.bytes <= limit {
            state.held += first.bytes
            ready.append(first)
            state.waiting.removeFirst()
        }
        return ready
    }
}

// MARK: - One call

/// The part of a budget that one call's requests hold, from their announced length until they are
/// served.
///
/// The request of a unary call is released at its end; in a stream each response releases the
/// oldest request. Confined to one event loop.
package final class RequestMeter {
    private let budget: RequestBudget
    private let loop: any EventLoop
    private var heldBytes = 0
    /// The sizes of the requests that have begun and have no response yet.
    private var unanswered: Deque<Int> = []
    private var wait: (id: UInt64, bytes: Int, resume: () -> Void)?

    package init(_ budget: RequestBudget, _ loop: any EventLoop) {
        self.budget = budget
        self.loop = loop
    }

    package var isWaiting: Bool { wait != nil }

    /// Holds budget for a request.
    ///
    /// - Parameter resume: called once there is budget, if the request must wait for it.
    package func hold(_ bytes: Int, _ resume: @escaping () -> Void) {
        unanswered.append(bytes)
        guard bytes > RequestBudget.smallBytes else {
            budget.holdSmall(bytes)
            heldBytes += bytes
            return
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let id = budget.hold(bytes) { [budget, loop] id in
            loop.execute {
                guard bound.value.wait?.id == id else { return budget.release(bytes) }
                bound.value.endWait()
            }
        }
        if let id { wait = (id, bytes, resume) } else { heldBytes += bytes }
    }

    package func release(requests: Int) {
        var bytes = 0
        for _ in 0..<requests { bytes += unanswered.popFirst() ?? 0 }
        release(bytes: min(bytes, heldBytes))
    }

    /// Releases all requests and cancels a wait.
    package func releaseAll() {
        // If the wait has ended already, its closure releases the bytes.
        if let wait { _ = budget.cancel(wait.id) }
        (wait, unanswered) = (nil, [])
        release(bytes: heldBytes)
    }

    private func endWait() {
        guard let wait else { return }
        heldBytes += wait.bytes
        self.wait = nil
        wait.resume()
    }

    private func release(bytes: Int) {
        guard bytes > 0 else { return }
        heldBytes -= bytes
        budget.release(bytes)
    }
}
