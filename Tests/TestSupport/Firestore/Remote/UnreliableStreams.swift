import Dispatch
import LarderModel
import LarderRemote
import Synchronization

/// A stream that a network can cut.
protocol UnreliableStream: AnyObject, Sendable {
    /// Ends it with an error, after what came before.
    func cut(_ error: LarderError)
}

final class UnreliableWatchStream: WatchStream, UnreliableStream {
    private let queue: DispatchQueue
    private let handler: Mutex<(@Sendable (WatchEvent) -> Void)?>
    private let stream = Mutex<(any WatchStream)?>(nil)

    init(_ queue: DispatchQueue, _ handler: @escaping @Sendable (WatchEvent) -> Void) {
        self.queue = queue
        self.handler = Mutex(handler)
    }

    var base: (any WatchStream)? {
        get { stream.withLock { $0 } }
        set { stream.withLock { $0 = newValue } }
    }

    func pass(_ event: WatchEvent) {
        queue.async { [self] in handler.withLock { $0 }?(event) }
    }

    func cut(_ error: LarderError) {
        base?.close()
        queue.async { [self] in take()?(.closed(error)) }
    }

    private func take() -> (@Sendable (WatchEvent) -> Void)? {
        handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
    }

    func send(_ request: WatchRequest) { base?.send(request) }

    func demand(_ count: Int) { base?.demand(count) }

    func close() {
        _ = take()
        base?.close()
    }

    deinit { close() }
}

final class UnreliableWriteStream: WriteStream, UnreliableStream {
    private struct State {
        var handler: (@Sendable (WriteEvent) -> Void)?
        var base: (any WriteStream)?
        /// Writes without an answer.
        var unanswered = 0
        /// Why the write after those is refused.
        var refusal: LarderError?
    }

    private let queue: DispatchQueue
    private let takeRefusal: @Sendable () -> LarderError?
    private let state: Mutex<State>

    init(
        _ queue: DispatchQueue, _ handler: @escaping @Sendable (WriteEvent) -> Void,
        takeRefusal: @escaping @Sendable () -> LarderError?
    ) {
        self.queue = queue
        self.takeRefusal = takeRefusal
        state = Mutex(State(handler: handler))
    }

    var base: (any WriteStream)? {
        get { state.withLock { $0.base } }
        set { state.withLock { $0.base = newValue } }
    }

    func pass(_ event: WriteEvent) {
        queue.async { [self] in
            let (handler, refusal) = state.withLock { state in
                if case .committed = event { state.unanswered -= 1 }
                return (state.handler, state.unanswered == 0 ? state.refusal : nil)
            }
            handler?(event)
            if let refusal { cut(refusal) }
        }
    }

    func cut(_ error: LarderError) {
        base?.close()
        queue.async { [self] in take()?(.closed(error)) }
    }

    private func take() -> (@Sendable (WriteEvent) -> Void)? {
        state.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
    }

    func send(_ request: WriteRequest) {
        guard case .write(let mutations, _, _) = request, !mutations.isEmpty else {
            base?.send(request)
            return
        }
        guard state.withLock({ $0.refusal }) == nil else { return }
        guard let refusal = takeRefusal() else {
            state.withLock { $0.unanswered += 1 }
            base?.send(request)
            return
        }
        let isNext = state.withLock { state in
            state.refusal = refusal
            return state.unanswered == 0
        }
        if isNext { cut(refusal) }
    }

    func close() {
        _ = take()
        base?.close()
    }

    deinit { close() }
}
