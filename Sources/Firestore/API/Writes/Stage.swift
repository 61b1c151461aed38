import LarderModel
import Synchronization

/// Something that ends once, with a value or an error, and that any number of tasks wait for.
final class Stage<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, LarderError>?
        var waiting: [Int: Completion<Value>] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Ends it; later ends do nothing.
    func finish(_ result: Result<Value, LarderError>) {
        let waiting = state.withLock { state -> [Completion<Value>] in
            guard state.result == nil else { return [] }
            state.result = result
            defer { state.waiting = [:] }
            return state.waiting.sorted { $0.key < $1.key }.map(\.value)
        }
        for completion in waiting { completion(result) }
    }

    /// How it ended; nil before.
    var result: Result<Value, LarderError>? { state.withLock { $0.result } }

    /// Calls a closure at its end, or at once.
    func whenFinished(_ completion: @escaping Completion<Value>) {
        _ = wait(as: nil, completion)
    }

    /// Suspends until its end, or until the task is cancelled.
    ///
    /// - Throws: `cancelled` when the task is cancelled; what it ended with.
    nonisolated(nonsending) func value() async throws(LarderError) -> Value {
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

    /// Whether the closure waits; else it was called.
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
        completion?(.failure(LarderError(.cancelled, "The task that waited was cancelled.")))
    }
}
