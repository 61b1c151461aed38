package import Dispatch
package import LarderCore
import Synchronization

/// A non-Sendable value passed to another thread.
///
/// The owner guarantees that one thread at a time uses it.
package struct Transferred<Value>: @unchecked Sendable {
    // A closure of the user's, called on the user's queue, or a value handed over for good.

    package let value: Value

    package init(_ value: Value) {
        self.value = value
    }
}

/// Receives the engine's result.
package typealias Completion<Value> = @Sendable (Result<Value, LarderError>) -> Void

extension DispatchQueue {
    /// A completion that calls an Objective-C-style handler on this queue.
    package func completion<Value: Sendable>(
        _ handler: @escaping (Value?, (any Error)?) -> Void
    ) -> Completion<Value> {
        let handler = Transferred(handler)
        return { result in
            self.async {
                switch result {
                case .success(let value): handler.value(value, nil)
                case .failure(let error): handler.value(nil, error)
                }
            }
        }
    }

    /// A completion that calls an error-only handler on this queue.
    package func completion(_ handler: @escaping ((any Error)?) -> Void) -> Completion<Void> {
        let transferred = Transferred(handler)
        return { result in
            self.async {
                switch result {
                case .success: transferred.value(nil)
                case .failure(let error): transferred.value(error)
                }
            }
        }
    }
}

/// Suspends until a completion is called.
///
/// Cancelling the task does not end the wait.
package nonisolated(nonsending) func answer<Value: Sendable>(
    _ body: (@escaping Completion<Value>) -> Void
) async throws(LarderError) -> Value {
    let order = HandOver()
    let result: Result<Value, LarderError> = await withCheckedContinuation { continuation in
        body {
            order.pass()
            continuation.resume(returning: $0)
        }
    }
    order.pass()
    return try result.get()
}

/// A lock that orders what two threads do before and after they pass it.
///
/// Swift's runtime orders them as well, but inside itself when a continuation is resumed before its
/// task waits, which the thread sanitizer does not see.
private final class HandOver: Sendable {
    private let lock = Mutex(())

    func pass() {
        lock.withLock { _ in }
    }
}

/// A result that is set once and can be awaited by any number of tasks.
package final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, LarderError>?
        var waiting: [Int: Completion<Value>] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())
    private let errorDomain: String

    /// A result that is not set.
    ///
    /// - Parameter errorDomain: the domain of the error that a cancelled task gets: that of the
    ///   database.
    package init(errorDomain: String) {
        self.errorDomain = errorDomain
    }

    /// Sets the result; later calls have no effect.
    package func finish(_ result: Result<Value, LarderError>) {
        let waiting = state.withLock { state -> [Completion<Value>] in
            guard state.result == nil else { return [] }
            state.result = result
            defer { state.waiting = [:] }
            // No key path: in generic code it is made at each call.
            return state.waiting.count < 2
                ? Array(state.waiting.values)
                : state.waiting.sorted { $0.key < $1.key }.map { $0.value }
        }
        for completion in waiting { completion(result) }
    }

    /// The result; nil until it is set.
    package var result: Result<Value, LarderError>? { state.withLock { $0.result } }

    /// Calls a closure with the result, immediately if it is already set.
    package func whenFinished(_ completion: @escaping Completion<Value>) {
        _ = wait(as: nil, completion)
    }

    /// Suspends until the result is set or the task is cancelled.
    ///
    /// - Throws: `cancelled` if the task is cancelled; the error of the result.
    package nonisolated(nonsending) func value() async throws(LarderError) -> Value {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = wait(as: id) { continuation.resume(returning: $0) }
                if isWaiting, Task.isCancelled { giveUp(id) }
            }
        } onCancel: {
            giveUp(id)
        }
        return try result.get()
    }

    /// Registers a closure; false if the result was already set and the closure was called.
    private func wait(as id: Int?, _ completion: @escaping Completion<Value>) -> Bool {
        let result = state.withLock { state -> Result<Value, LarderError>? in
            if let result = state.result { return result }
            state.waiting[id ?? state.nextID] = completion
            if id == nil { state.nextID += 1 }
            return nil
        }
        guard let result else { return true }
        completion(result)
        return false
    }

    private func giveUp(_ id: Int) {
        let completion = state.withLock { $0.waiting.removeValue(forKey: id) }
        completion?(
            .failure(
                LarderError(
                    .cancelled, "The waiting task was cancelled.", domain: errorDomain)))
    }
}
