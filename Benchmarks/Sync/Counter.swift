import Dispatch
import Synchronization

/// Counts what happens on other threads, and blocks until it has happened often enough.
final class Counter: Sendable {
    private struct State {
        var count = 0
        var target = Int.max
    }

    private let state = Mutex(State())
    private let reached = DispatchSemaphore(value: 0)

    var count: Int { state.withLock { $0.count } }

    func add() {
        let isReached = state.withLock { state in
            state.count += 1
            return state.count == state.target
        }
        if isReached { reached.signal() }
    }

    /// Blocks until the count is so high.
    func wait(for target: Int) {
        let isReached = state.withLock { state in
            state.target = state.count < target ? target : Int.max
            return state.target == Int.max
        }
        if !isReached { reached.wait() }
    }
}

/// Blocks until a closure was called with a result; the result.
func blocking<T: Sendable>(_ body: (@escaping @Sendable (T) -> Void) -> Void) -> T? {
    let (result, done) = (Held<T>(), DispatchSemaphore(value: 0))
    body {
        result.put($0)
        done.signal()
    }
    done.wait()
    return result.value
}

private final class Held<T: Sendable>: Sendable {
    private let state = Mutex<T?>(nil)

    var value: T? { state.withLock { $0 } }

    func put(_ value: T) { state.withLock { $0 = value } }
}
