import LarderModel
import Logging
import Synchronization

/// The client's side of a stream of requests and events.
///
/// Requests sent before the stream is open wait in order. Releasing it closes it.
final class CloudStream<Request: Sendable, Event: Sendable>: Sendable {
    /// The parts that differ between kinds of stream.
    struct Kind: Sendable {
        /// The method's name, for the log.
        let name: String
        let metrics: RemoteMetrics.Stream
        /// The first event.
        let opened: Event
        /// The last event, with the reason.
        let closed: @Sendable (LarderError?) -> Event
    }

    private let requests: AsyncStream<Request>.Continuation
    private let mailbox: StreamMailbox<Event>
    private let task: Task<Void, Never>

    /// Begins a stream.
    ///
    /// - Parameter serve: makes the call with the requests and a mailbox for events; returns the
    ///   error that ended it, or nil.
    init(
        _ kind: Kind, _ caller: CloudCaller, _ calls: OpenCalls,
        _ handler: @escaping @Sendable (Event) -> Void,
        serve:
            @escaping @Sendable (AsyncStream<Request>, StreamMailbox<Event>) async -> LarderError?
    ) {
        let (waiting, requests) = AsyncStream.makeStream(of: Request.self)
        let mailbox = StreamMailbox(opened: kind.opened, handler)
        self.requests = requests
        self.mailbox = mailbox
        let logger = caller.configuration.logger
        task = calls.start(.stream) {
            kind.metrics.open()
            let error = await serve(waiting, mailbox)
            kind.metrics.end(error)
            logger.debug(
                "a stream has ended",
                metadata: [
                    "method": "\(kind.name)", "reason": "\(error?.description ?? "none")",
                ])
            mailbox.end(kind.closed(error))
        }
    }

    deinit {
        close()
    }

    /// Sends a request after the previous ones.
    func send(_ request: Request) {
        requests.yield(request)
    }

    /// Closes the stream; the handler receives nothing more.
    func close() {
        guard mailbox.mute() else { return }
        requests.finish()
        task.cancel()
    }
}

// MARK: - Events

/// Delivers a stream's events from any threads to its handler, serially and in order, without
/// blocking.
final class StreamMailbox<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var isDelivering = false
        var isOpened = false
        var isEnded = false
        var isMuted = false

        mutating func open(_ event: Event) {
            guard !isOpened else { return }
            isOpened = true
            events.append(event)
        }
    }

    private let opened: Event
    private let handler: @Sendable (Event) -> Void
    private let state = Mutex(State())

    /// - Parameter opened: the event to deliver before any other but the end.
    init(opened: Event, _ handler: @escaping @Sendable (Event) -> Void) {
        self.opened = opened
        self.handler = handler
    }

    /// Delivers the opening; further calls have no effect.
    func open() {
        deliver { $0.open(opened) }
    }

    /// Delivers an event of an open stream.
    func put(_ event: Event) {
        deliver {
            $0.open(opened)
            $0.events.append(event)
        }
    }

    /// Delivers the last event.
    func end(_ event: Event) {
        deliver {
            $0.events.append(event)
            $0.isEnded = true
        }
    }

    /// Stops delivery.
    ///
    /// - Returns: false if it was stopped already.
    func mute() -> Bool {
        state.withLock { state in
            defer { state.isMuted = true }
            state.events = []
            return !state.isMuted
        }
    }

    private func deliver(_ change: (inout State) -> Void) {
        let isMine = state.withLock { state in
            guard !state.isEnded, !state.isMuted else { return false }
            change(&state)
            if state.isDelivering { return false }
            state.isDelivering = true
            return true
        }
        guard isMine else { return }
        while let event = next() { handler(event) }
    }

    private func next() -> Event? {
        state.withLock { state in
            guard state.events.isEmpty else { return state.events.removeFirst() }
            state.isDelivering = false
            return nil
        }
    }
}

// MARK: - Flow control

/// The number of responses that a client has demanded; one task waits for the next.
final class StreamDemand: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var count = 0
        var waiter: Waiter?
    }

    private let state = Mutex(State())

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

    /// Takes one, waiting for demand.
    ///
    /// - Throws: `CancellationError`.
    func take() async throws {
        // The common case, which avoids the cost of suspending.
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
