import LarderModel
import Metrics

/// A connection's metrics, reported to the metrics system that is bootstrapped when it is created.
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

    init() {
        factory = MetricsSystem.factory
        listen = Stream("Listen", factory)
        write = Stream("Write", factory)
        connections = Counter(label: "larder_remote_connections", factory: factory)
    }

    func connected() { connections.increment() }

    func ended(_ method: String, _ error: LarderError?, after duration: Duration) {
        Counter(
            label: "larder_remote_calls",
            dimensions: [("method", method), ("status", status(error))], factory: factory
        ).increment()
        Timer(
            label: "larder_remote_call_seconds", dimensions: [("method", method)], factory: factory
        ).record(duration: duration)
    }

    /// Counts a request to the token provider.
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
