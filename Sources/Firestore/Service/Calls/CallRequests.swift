import DequeModule
import GRPCCore
import LarderHTTP
import Synchronization

/// The requests of a call, from its connection to what serves it.
///
/// The connection's event loop puts them in, one task takes them out.
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

    /// What comes next.
    private enum Next {
        case part(Element), end, unknown
    }

    private struct State {
        var parts: Deque<Element> = []
        /// The bytes of these, as they travelled.
        var bytes = 0
        /// Whether to tell when they are few.
        var isWatched = false
        var end: Result<Void, any Error>?
        var waiter: LoopContinuation<Void>?
        var cancellation: ServerContext.RPCCancellationHandle?
    }

    private let state: Mutex<State>
    /// How many bytes are few.
    private let fewBytes: Int
    private let becameFew: @Sendable () -> Void

    /// The requests behind the headers of a call.
    ///
    /// - Parameters:
    ///   - fewBytes: what may lie here without anybody being told that it does not.
    ///   - becameFew: called on any thread when no more than that lies here, where ``isFull`` has
    ///     said before that more does.
    init(_ metadata: Metadata, fewBytes: Int, becameFew: @escaping @Sendable () -> Void) {
        state = Mutex(State(parts: [.metadata(metadata)]))
        self.fewBytes = fewBytes
        self.becameFew = becameFew
    }

    // MARK: The connection's side

    /// Adds a request.
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

    /// Whether more than few bytes lie here.
    var isFull: Bool {
        state.withLock { state in
            state.isWatched = state.bytes > fewBytes
            return state.isWatched
        }
    }

    /// Ends the requests: there are no more.
    func finish() {
        end(.success(()))
    }

    /// Ends the call: what serves it is cancelled.
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

    // MARK: The side of what serves the call

    /// What is to be cancelled when the call ends early; at once where it has.
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
            case .unknown: await waitForNews()
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
            // Most of the time there are none, and no room is kept for those that were.
            if state.parts.isEmpty { state.parts = [] }
            if case .message(let message) = part { state.bytes -= Self.bytes(of: message) }
            guard state.isWatched, state.bytes <= fewBytes else { return (.part(part), false) }
            state.isWatched = false
            return (.part(part), true)
        }
        if isFew { becameFew() }
        return next
    }

    private func waitForNews() async {
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
    /// The error of a call whose client does not wait for an answer any more.
    static var clientHasLeft: RPCError {
        RPCError(code: .cancelled, message: "the client has left")
    }
}
