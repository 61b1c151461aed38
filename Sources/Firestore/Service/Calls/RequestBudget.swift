import DequeModule
import Synchronization

/// How many bytes of requests are held at a time; any thread may use it.
///
/// Who asks for more than there is room for waits, the first that comes first. Little is given at
/// once: it is not worth a wait, and what waits for large requests harms no small one.
final class RequestBudget: Sendable {
    /// What is given at once.
    static let littleBytes = 64 << 10

    private struct Waiter {
        let id: UInt64
        let bytes: Int
        let go: @Sendable (_ id: UInt64) -> Void
    }

    private struct State {
        var held = 0
        var waiting: Deque<Waiter> = []
        var lastID: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// How many bytes are held.
    var heldBytes: Int { state.withLock { $0.held } }

    /// Holds bytes that are little.
    func takeLittle(_ bytes: Int) {
        state.withLock { $0.held += bytes }
    }

    /// Holds bytes, now or later.
    ///
    /// - Parameters:
    ///   - bytes: how many; at most the limit.
    ///   - go: called on any thread once they are held, where that is later, with the number of
    ///     the wait.
    /// - Returns: the number of the wait; nil where they are held at once.
    func take(_ bytes: Int, _ go: @escaping @Sendable (_ id: UInt64) -> Void) -> UInt64? {
        state.withLock { state in
            let hasRoom = state.waiting.isEmpty && state.held + bytes <= limit
            guard !hasRoom else {
                state.held += bytes
                return nil
            }
            state.lastID += 1
            state.waiting.append(Waiter(id: state.lastID, bytes: bytes, go: go))
            return state.lastID
        }
    }

    /// Gives a wait up.
    ///
    /// - Returns: false where the bytes are held by now.
    func giveUp(_ id: UInt64) -> Bool {
        let (hasWaited, ready) = state.withLock { state -> (Bool, [Waiter]) in
            guard let position = state.waiting.firstIndex(where: { $0.id == id }) else {
                return (false, [])
            }
            state.waiting.remove(at: position)
            return (true, Self.takeReady(&state, limit))
        }
        for waiter in ready { waiter.go(waiter.id) }
        return hasWaited
    }

    /// Holds bytes no longer that were held.
    func release(_ bytes: Int) {
        let ready = state.withLock { state in
            state.held -= bytes
            return Self.takeReady(&state, limit)
        }
        for waiter in ready { waiter.go(waiter.id) }
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
