import GRPCCore
import LarderCore
import LarderRemote
import Synchronization

/// How long one call may take: until it is on its way, and from then on until it is done.
///
/// Options of calls have a limit as well; but a sleeping task stays behind for as long as that is
/// after every call, however soon it was done.
final class CallLimits: Sendable {
    private struct State {
        var isOnItsWay = false
        /// Takes the limit back that is to be kept now.
        var deadline: Deadline?
        /// Cancels the call; nil before it is made and after it is done.
        var cancel: (@Sendable () -> Void)?
        /// Why it was cancelled.
        var failure: RPCError?
    }

    private let deadlines: Deadlines
    private let connectTimeout: Duration
    private let timeout: Duration?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - connectTimeout: how long the call may take until it is on its way.
    ///   - timeout: how long it may take from then on; nil for ever.
    init(_ deadlines: Deadlines, connectTimeout: Duration, timeout: Duration?) {
        self.deadlines = deadlines
        self.connectTimeout = connectTimeout
        self.timeout = timeout
    }

    /// Whether the call is on its way, or was.
    var isOnItsWay: Bool { state.withLock { $0.isOnItsWay } }

    /// The call is on its way.
    func begin() {
        state.withLock { state in
            state.isOnItsWay = true
            keep(&state)
        }
    }

    /// Makes the call, and cancels it when it takes too long: a provider of tokens that does not
    /// answer, or a host that accepts a connection and says nothing, would keep it for ever.
    ///
    /// - Throws: `unavailable` where it was not on its way in time, `deadlineExceeded` where it was
    ///   not done in time; what the call throws.
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

    /// Sets the limit that is to be kept now, in the place of the one before.
    private func keep(_ state: inout State) {
        guard state.cancel != nil else { return }
        state.deadline?.cancel()
        let isOnItsWay = state.isOnItsWay
        state.deadline = (isOnItsWay ? timeout : connectTimeout).map { time in
            deadlines.after(time) { self.end(isOnItsWay: isOnItsWay) }
        }
    }

    /// Cancels the call, unless it got on its way in the meantime.
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
