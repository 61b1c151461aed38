import LarderModel
import Logging
import Synchronization

/// A client's side of a stream of requests and events, whatever they are.
///
/// Requests that are sent before the stream is open wait, in order. Letting it go closes it.
final class CloudStream<Request: Sendable, Event: Sendable>: Sendable {
    /// What differs between the kinds of stream.
    struct Kind: Sendable {
        /// The method's name, for the log.
        let name: String
        /// What counts the stream.
        let metrics: RemoteMetrics.Stream
        /// What the handler hears first.
        let opened: Event
        /// What it hears last, with the reason.
        let closed: @Sendable (LarderError?) -> Event
    }

    private let requests: AsyncStream<Request>.Continuation
    private let mailbox: StreamMailbox<Event>
    private let task: Task<Void, Never>

    /// Begins a stream.
    ///
    /// - Parameter serve: makes the call with the requests and a mailbox for what comes of them;
    ///   gives why it has ended, nil in good order.
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

    /// Sends a request behind those before it.
    func send(_ request: Request) {
        requests.yield(request)
    }

    /// Ends the stream; the handler hears nothing more.
    func close() {
        guard mailbox.mute() else { return }
        requests.finish()
        task.cancel()
    }
}
