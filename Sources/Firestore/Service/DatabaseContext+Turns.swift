import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire
import Synchronization

extension DatabaseContext {
    /// The read time of a request; in a transaction that may write, at its turn to read.
    ///
    /// - Parameter decode: decodes what the request reads.
    /// - Throws: as ``ReadTime``; `aborted` under too much contention; `cancelled` if the call ends.
    func turn(
        _ consistency: ConsistencySelector,
        toRead decode: (MessageCoder) throws(LarderError) -> ReadTargets
    ) async throws(LarderError) -> ReadTime {
        let coder = coder()
        guard consistency.isOfTransaction else { return try ReadTime(consistency, self, coder) }
        // First, so that a malformed request begins no transaction.
        let targets = try decode(coder)
        let time = try ReadTime(consistency, self, coder)
        guard let transaction = time.transaction else { return time }
        let wait = TurnWait()
        let result = await withTaskCancellationHandler {
            await withLoopContinuation { continuation in
                wait.begin {
                    continuation.resume(returning: $0)
                } on: {
                    backend.awaitTurn(of: transaction, toRead: targets, $0)
                }
            }
        } onCancel: {
            wait.cancel()
        }
        try result.get()
        return time
    }
}

/// The wait of a call for its turn, which ends early if the call does.
private final class TurnWait: Sendable {
    typealias Completion = @Sendable (Result<Void, LarderError>) -> Void

    private struct State {
        var completion: Completion?
        var end: (@Sendable () -> Void)?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Begins to wait.
    ///
    /// - Parameters:
    ///   - completion: called once.
    ///   - start: starts the wait and returns what ends it.
    func begin(
        _ completion: @escaping Completion,
        on start: (@escaping Completion) -> (@Sendable () -> Void)?
    ) {
        state.withLock { $0.completion = completion }
        let end = start { self.complete($0) }
        let isCancelled = state.withLock { state in
            state.end = state.completion == nil ? nil : end
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let end = state.withLock { state in
            defer { state.end = nil }
            state.isCancelled = true
            return state.end
        }
        guard let end else { return }
        end()
        complete(.failure(.clientHasLeft))
    }

    private func complete(_ result: Result<Void, LarderError>) {
        let completion = state.withLock { state in
            defer { state.completion = nil }
            return state.completion
        }
        completion?(result)
    }
}
