package import Logging
package import Metrics
import Synchronization

/// A kind of refused access.
package enum AccessRefusal: String, Sendable {
    /// The host of the request is not a name of the server.
    case host
    /// The request comes from a foreign web page.
    case origin
    /// The token is missing, wrong or expired.
    case token
    /// Security rules deny the request.
    case rules
}

/// Counts and logs refused access: the counter `larder_server_refusals` by `reason` and `transport`.
///
/// Each refusal of a host, an origin or a token is a warning, but one of a kind and client address
/// in ``interval`` only; the next one says how many were not logged. Denials by rules are counted
/// and logged at debug level: they are part of an application's work. Any thread may use it.
package final class AccessMonitor: Sendable {
    /// How a request has arrived.
    package enum Transport: String, Sendable {
        case grpc, json, http, rest, websocket
    }

    private struct Source: Hashable {
        let kind: AccessRefusal
        let address: String
    }

    private struct Entry {
        var logged: Duration
        var suppressed = 0
    }

    /// The time between two warnings of a kind about one address.
    static let interval = Duration.seconds(10)
    /// The number of sources that are told apart; all others are one.
    static let maxSources = 1_000

    private let logger: Logger
    private let metrics: any MetricsFactory
    private let now: @Sendable () -> Duration
    private let sources = Mutex<[Source: Entry]>([:])

    /// - Parameters:
    ///   - metrics: makes the counters; nil for the metrics system of the process.
    ///   - now: the time on a monotonic clock.
    package init(
        _ logger: Logger, metrics: (any MetricsFactory)? = nil,
        now: @escaping @Sendable () -> Duration = { ContinuousClock.now - AccessMonitor.start }
    ) {
        self.logger = logger
        self.metrics = metrics ?? MetricsSystem.factory
        self.now = now
    }

    package static let start = ContinuousClock.now

    /// Counts a refusal, and logs it unless one of its kind and address was logged just before.
    ///
    /// - Parameters:
    ///   - reason: what the client was told; no secrets.
    ///   - address: the client's address; nil or empty if it has none.
    package func note(
        _ kind: AccessRefusal, _ reason: String, over transport: Transport, address: String?
    ) {
        Counter(
            label: "larder_server_refusals",
            dimensions: [("reason", kind.rawValue), ("transport", transport.rawValue)],
            factory: metrics
        ).increment()
        let address = address ?? ""
        var metadata: Logger.Metadata = [
            "reason": "\(reason)", "transport": "\(transport.rawValue)", "peer": "\(address)",
        ]
        guard kind != .rules else {
            return logger.debug("a request was denied by rules", metadata: metadata)
        }
        guard let suppressed = admit(Source(kind: kind, address: address)) else { return }
        if suppressed > 0 { metadata["suppressed"] = "\(suppressed)" }
        logger.warning("access was refused", metadata: metadata)
    }

    /// The number of refusals since the last warning about a source; nil if there is to be none now.
    private func admit(_ source: Source) -> Int? {
        let time = now()
        return sources.withLock { sources in
            var source = source
            if sources[source] == nil, sources.count >= Self.maxSources {
                // Entries with a count are kept twice as long, so that their next warning has it.
                sources = sources.filter {
                    time - $0.value.logged < Self.interval * ($0.value.suppressed > 0 ? 2 : 1)
                }
                if sources.count >= Self.maxSources {
                    source = Source(kind: source.kind, address: "")
                }
            }
            if let entry = sources[source], time - entry.logged < Self.interval {
                sources[source]?.suppressed += 1
                return nil
            }
            return sources.updateValue(Entry(logged: time), forKey: source)?.suppressed ?? 0
        }
    }
}
