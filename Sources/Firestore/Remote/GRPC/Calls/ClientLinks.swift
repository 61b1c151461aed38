import GRPCCore
import GRPCNIOTransportHTTP2
import LarderModel
import Logging
import NIOCore
import Synchronization

/// The link that calls go over: made when it is needed, and given up when no connection came about.
///
/// A link that cannot connect would make later calls wait for its own time to try again. Who calls
/// has a backoff already; so such a link is dropped, and each call tries at once.
final class ClientLinks: Sendable {
    private struct State {
        var link: ClientLink?
        var isClosed = false
    }

    private let configuration: CloudFirestoreConfiguration
    private let metrics: RemoteMetrics
    private let state = Mutex(State())

    /// - Throws: `invalidArgument` for certificates that cannot be read.
    init(
        _ configuration: CloudFirestoreConfiguration, _ metrics: RemoteMetrics
    ) throws(LarderError) {
        self.configuration = configuration
        self.metrics = metrics
        // Says now what would be wrong with every one.
        _ = try makeTransport()
    }

    /// The link that there is, or a new one.
    ///
    /// - Throws: `unavailable` after ``close()``; `invalidArgument` for certificates that cannot be
    ///   read any more.
    func current() throws(LarderError) -> ClientLink {
        try state.withLock { (state) throws(LarderError) in
            guard !state.isClosed else { throw Self.closed }
            if let link = state.link { return link }
            let link = ClientLink(try makeTransport())
            metrics.connected()
            configuration.logger.debug(
                "connecting", metadata: ["host": "\(configuration.host):\(configuration.port)"])
            state.link = link
            return link
        }
    }

    /// Gives a link up that has not connected.
    func retire(_ link: ClientLink) {
        let isCurrent = state.withLock { state in
            guard state.link === link else { return false }
            state.link = nil
            return true
        }
        if isCurrent { link.retire() }
    }

    /// Whether nothing is let through any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Refuses what comes from now on.
    func refuse() {
        state.withLock { $0.isClosed = true }
    }

    /// Ends the link, and what goes over it.
    func close() async {
        let link = state.withLock { state in
            state.isClosed = true
            defer { state.link = nil }
            return state.link
        }
        await link?.end()
    }

    /// What calls fail with after ``close()``.
    static var closed: LarderError {
        LarderError(.unavailable, "the connection to the backend was closed")
    }

    private func makeTransport() throws(LarderError) -> HTTP2ClientTransport.Posix {
        do {
            return try HTTP2ClientTransport.Posix(
                target: .dns(host: configuration.host, port: configuration.port),
                transportSecurity: configuration.transportSecurity,
                config: configuration.transport)
        } catch {
            throw LarderError(
                .invalidArgument, "no connection can be made as it is configured", cause: error)
        }
    }
}

extension CloudFirestoreConfiguration {
    fileprivate var transportSecurity: HTTP2ClientTransport.Posix.TransportSecurity {
        switch security {
        case .plainText: .plaintext
        case .tls: .tls
        case .tlsTrusting(let files):
            .tls { tls in
                tls.trustRoots = .certificates(files.map { .file(path: $0, format: .pem) })
            }
        }
    }

    fileprivate var transport: HTTP2ClientTransport.Posix.Config {
        .defaults { transport in
            transport.channelDebuggingCallbacks.onCreateTCPConnection = { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        [FailedConnect(), UnfinishedRead(), FlushHandler()], position: .first)
                }
            }
            // See FlushHandler.
            transport.connection.flushCoalescing = nil
            transport.connection.maxIdleTime = idleTimeout
            // Without calls as well: the transport would stop asking once there are none, and not
            // begin again with the next ones.
            // And it asks again while it waits, and then waits anew: an interval within the timeout
            // would let it wait for ever.
            transport.connection.keepalive = keepaliveInterval.map {
                .init(
                    time: max($0, keepaliveTimeout * 1.1), timeout: keepaliveTimeout,
                    allowWithoutCalls: true)
            }
        }
    }
}
