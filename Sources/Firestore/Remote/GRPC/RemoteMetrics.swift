import LarderModel
import Metrics

/// What a connection counts, for whatever collects metrics when it is made.
///
/// | name | kind | dimensions |
/// |---|---|---|
/// | `larder_remote_calls` | counter | `method`, `status` |
/// | `larder_remote_call_seconds` | timer | `method` |
/// | `larder_remote_streams` | counter | `method` |
/// | `larder_remote_stream_ends` | counter | `method`, `status` |
/// | `larder_remote_messages` | counter | `method`, `direction` |
/// | `larder_remote_connections` | counter | |
/// | `larder_remote_token_refreshes` | counter | `status` |
struct RemoteMetrics: Sendable {
    /// The counters of one kind of stream.
    struct Stream: Sendable {
        private let method: String
        private let factory: any MetricsFactory
        private let opened: Counter
        private let sent: Counter
        private let received: Counter

        init(_ method: String, _ factory: any MetricsFactory) {
            self.method = method
            self.factory = factory
            opened = Counter(
                label: "larder_remote_streams", dimensions: [("method", method)], factory: factory)
            sent = Counter(
                label: "larder_remote_messages",
                dimensions: [("method", method), ("direction", "sent")], factory: factory)
            received = Counter(
                label: "larder_remote_messages",
                dimensions: [("method", method), ("direction", "received")], factory: factory)
        }

        func open() { opened.increment() }

        func send() { sent.increment() }

        func receive() { received.increment() }

        func end(_ error: LarderError?) {
            Counter(
                label: "larder_remote_stream_ends",
                dimensions: [("method", method), ("status", status(error))], factory: factory
            ).increment()
        }
    }

    let listen: Stream
    let write: Stream
    private let factory: any MetricsFactory
    private let connections: Counter

    /// Counts with the metrics system of the process, as it is now.
    init() {
        factory = MetricsSystem.factory
        listen = Stream("Listen", factory)
        write = Stream("Write", factory)
        connections = Counter(label: "larder_remote_connections", factory: factory)
    }

    /// Counts a connection that was begun.
    func connected() { connections.increment() }

    /// Counts a call that has ended.
    func ended(_ method: String, _ error: LarderError?, after duration: Duration) {
        Counter(
            label: "larder_remote_calls",
            dimensions: [("method", method), ("status", status(error))], factory: factory
        ).increment()
        Timer(
            label: "larder_remote_call_seconds", dimensions: [("method", method)], factory: factory
        ).record(duration: duration)
    }

    /// Counts a question to the provider of tokens.
    func refreshedToken(isSuccess: Bool) {
        Counter(
            label: "larder_remote_token_refreshes",
            dimensions: [("status", isSuccess ? "ok" : "failed")], factory: factory
        ).increment()
    }
}

private func status(_ error: LarderError?) -> String {
    error.map { "\($0.kind)" } ?? "ok"
}
