import GRPCCore
import LarderCore
import LarderRemote
import Synchronization

/// The time limits of one call: one until it is sent, another until it completes.
///
/// They replace the limit in gRPC's call options, which leaves a task sleeping for the whole limit
/// after every call, even a short one.
final class CallLimits: Sendable {
    private struct State {
        var isOnItsWay = false
        /// The timer of the current limit.
        var deadline: Deadline?
        /// Cancels the call; nil before it starts and after it ends.
        var cancel: (@Sendable () -> Void)?
        /// The reason for the cancellation.
        var failure: RPCError?
    }

    private let deadlines: Deadlines
    private let connectTimeout: Duration
    private let timeout: Duration?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - connectTimeout: the limit until the call is sent.
    ///   - timeout: the limit from then on; nil for none.
    init(_ deadlines: Deadlines, connectTimeout: Duration, timeout: Duration?) {
        self.deadlines = deadlines
        self.connectTimeout = connectTimeout
        self.timeout = timeout
    }

    var isOnItsWay: Bool { state.withLock { $0.isOnItsWay } }

    /// Marks the call as sent.
    func begin() {
        state.withLock { state in
            state.isOnItsWay = true
            keep(&state)
        }
    }

    /// Makes the call, and cancels it at its limit: an unresponsive token provider, or a host that
    /// accepts connections without responding, would block it indefinitely.
    ///
    /// - Throws: `unavailable` if the call was not sent in time; `deadlineExceeded` if it did not
    ///   complete in time; the error of `call`.
    func during<Answer: Sendable>(
        _ call: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let task = Task { try await call() }
        state.withLock { state in
            state.cancel = { task.cancel() }
            keep(&state)
        }
        defer {
            state.withLock { state in
                state.deadline?.cancel()
                state.cancel = nil
            }
        }
        return try await withTaskCancellationHandler {
            do {
                return try await task.value
            } catch {
                throw state.withLock { $0.failure } ?? error
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// Starts the timer of the current limit in place of the previous one.
    private func keep(_ state: inout State) {
        guard state.cancel != nil else { return }
        state.deadline?.cancel()
        let isOnItsWay = state.isOnItsWay
        state.deadline = (isOnItsWay ? timeout : connectTimeout).map { time in
            deadlines.after(time) { self.end(isOnItsWay: isOnItsWay) }
        }
    }

    /// Cancels the call, unless it has been sent since the timer was started.
    private func end(isOnItsWay: Bool) {
        let cancel = state.withLock { state in
            guard state.isOnItsWay == isOnItsWay else { return nil as (@Sendable () -> Void)? }
            state.failure =
                isOnItsWay
                ? RPCError(code: .deadlineExceeded, message: "the call has timed out")
                : RPCError(code: .unavailable, message: "the host does not respond")
            return state.cancel
        }
        cancel?()
    }
}
