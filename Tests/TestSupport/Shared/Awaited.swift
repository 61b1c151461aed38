import Synchronization

/// A value that a test waits for to become as it should be; any thread may use it.
package final class Awaited<Value: Sendable>: Sendable {
    private typealias Waiter = (
        condition: @Sendable (Value) -> Bool, continuation: CheckedContinuation<Void, Never>
    )

    private let state: Mutex<(value: Value, waiters: [Waiter])>

    /// A value to begin with.
    package init(_ value: Value) {
        state = Mutex((value, []))
    }

    /// The value as it is.
    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and resumes the tasks that waited for the new one.
    package func change(_ body: @Sendable (inout Value) -> Void) {
        let ready = state.withLock { state -> [Waiter] in
            body(&state.value)
            let value = state.value
            let ready = state.waiters.filter { $0.condition(value) }
            if !ready.isEmpty { state.waiters.removeAll { $0.condition(value) } }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits until the value is as a condition says.
    package func wait(_ condition: @escaping @Sendable (Value) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if condition(state.value) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }
}
