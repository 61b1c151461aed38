import Synchronization

/// How many responses a client is ready for; one task waits for it to be ready for the next.
final class StreamDemand: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var count = 0
        var waiter: Waiter?
    }

    private let state = Mutex(State())

    /// Adds to it.
    func add(_ count: Int) {
        guard count > 0 else { return }
        let waiter = state.withLock { state -> Waiter? in
            let (sum, isOverflow) = state.count.addingReportingOverflow(count)
            state.count = isOverflow ? .max : sum
            guard let waiter = state.waiter else { return nil }
            state.waiter = nil
            state.count -= 1
            return waiter
        }
        waiter?.resume()
    }

    /// Takes one away, once there is one.
    ///
    /// - Throws: `CancellationError`.
    func take() async throws {
        // Nearly always there is, and waiting costs more than all else that is done here.
        if takeNow() { return try Task.checkCancellation() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.count > 0 else {
                        state.waiter = continuation
                        return nil
                    }
                    state.count -= 1
                    return .success(())
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func takeNow() -> Bool {
        state.withLock { state in
            guard state.count > 0 else { return false }
            state.count -= 1
            return true
        }
    }
}
