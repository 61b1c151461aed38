import DequeModule
import GRPCCore
import LarderHTTP
import Synchronization

/// The requests of a call, from its connection to gRPC: the event loop appends, one task consumes.
final class CallRequests: AsyncSequence, Sendable {
    typealias Element = RPCRequestPart<[UInt8]>
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let requests: CallRequests

        mutating func next(isolation: isolated (any Actor)?) async throws -> Element? {
            try await requests.next()
        }

        mutating func next() async throws -> Element? {
            try await requests.next()
        }
    }

    private enum Next {
        case part(Element), end, unknown
    }

    private struct State {
        var parts: Deque<Element> = []
        /// The encoded size of the parts.
        var bytes = 0
        /// Whether to call `becameFew`.
        var isWatched = false
        var end: Result<Void, any Error>?
        var waiter: LoopContinuation<Void>?
        var cancellation: ServerContext.RPCCancellationHandle?
    }

    private let state: Mutex<State>
    private let fewBytes: Int
    private let becameFew: @Sendable () -> Void

    /// - Parameters:
    ///   - fewBytes: the threshold of ``isFull``.
    ///   - becameFew: called on any thread when the unread bytes fall to the threshold after
    ///     ``isFull`` was true.
    init(_ metadata: Metadata, fewBytes: Int, becameFew: @escaping @Sendable () -> Void) {
        state = Mutex(State(parts: [.metadata(metadata)]))
        self.fewBytes = fewBytes
        self.becameFew = becameFew
    }

    // MARK: Producer

    func add(_ message: [UInt8]) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return LoopContinuation<Void>?.none }
            state.parts.append(.message(message))
            state.bytes += Self.bytes(of: message)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    private static func bytes(of message: [UInt8]) -> Int {
        MessageReader.prefixBytes + message.count
    }

    /// Whether the unread bytes exceed the threshold.
    var isFull: Bool {
        state.withLock { state in
            state.isWatched = state.bytes > fewBytes
            return state.isWatched
        }
    }

    /// Ends the requests.
    func finish() {
        end(.success(()))
    }

    /// Ends and cancels the call.
    func cancel() {
        end(.failure(RPCError.clientHasLeft))
        state.withLock { $0.cancellation }?.cancel()
    }

    private func end(_ end: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            if case .failure = end {
                (state.parts, state.bytes) = ([], 0)
                state.end = end
            }
            state.end = state.end ?? end
            return state.waiter.take()
        }
        waiter?.resume()
    }

    // MARK: Consumer

    /// Sets the handle to cancel if the call ends early; cancels it if it has.
    func cancelling(_ handle: ServerContext.RPCCancellationHandle) {
        let isOver = state.withLock { state in
            state.cancellation = handle
            if case .failure = state.end { return true }
            return false
        }
        if isOver { handle.cancel() }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(requests: self)
    }

    private func next() async throws -> Element? {
        while true {
            switch try take() {
            case .part(let part): return part
            case .end: return nil
            case .unknown: await waitForPart()
            }
        }
    }

    private func take() throws -> Next {
        let (next, isFew) = try state.withLock { state -> (Next, Bool) in
            guard let part = state.parts.popFirst() else {
                guard let end = state.end else { return (.unknown, false) }
                try end.get()
                return (.end, false)
            }
            // Mostly empty; the buffer is released.
            if state.parts.isEmpty { state.parts = [] }
            if case .message(let message) = part { state.bytes -= Self.bytes(of: message) }
            guard state.isWatched, state.bytes <= fewBytes else { return (.part(part), false) }
            state.isWatched = false
            return (.part(part), true)
        }
        if isFew { becameFew() }
        return next
    }

    private func waitForPart() async {
        await withTaskCancellationHandler {
            await withLoopContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.parts.isEmpty, state.end == nil else { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            end(.failure(CancellationError()))
        }
    }
}

extension RPCError {
    /// The error of a call whose client no longer waits for a response.
    static var clientHasLeft: RPCError {
        RPCError(code: .cancelled, message: "the client has disconnected or cancelled the call")
    }
}
