import Dispatch
import LarderModel
import Synchronization

/// A value that goes to another thread where the compiler cannot see that one thread at a time
/// uses it.
struct Transferred<Value>: @unchecked Sendable {
    // A closure of the user's, called on the user's queue, or a value handed over for good.

    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// What tells the engine's answer.
typealias Completion<Value> = @Sendable (Result<Value, LarderError>) -> Void

extension DispatchQueue {
    /// Has a completion handler in Apple's form called on the queue.
    func completion<Value: Sendable>(
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

    /// Has a completion handler that takes an error alone called on the queue.
    func completion(_ handler: (((any Error)?) -> Void)?) -> Completion<Void> {
        guard let handler else { return { _ in } }
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

/// Suspends until a completion is called; without a way to end the waiting earlier.
nonisolated(nonsending) func answer<Value: Sendable>(
    _ body: (@escaping Completion<Value>) -> Void
) async throws(LarderError) -> Value {
    let result: Result<Value, LarderError> = await withCheckedContinuation { continuation in
        body { continuation.resume(returning: $0) }
    }
    return try result.get()
}
