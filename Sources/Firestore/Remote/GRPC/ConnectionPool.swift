import GRPCCore
import GRPCNIOTransportHTTP2
import LarderModel
import Logging
import NIOCore
import Synchronization

/// The connection of all calls: created on demand, and dropped if it cannot connect.
///
/// A failed transport would delay later calls by its own backoff. Callers have a backoff already,
/// so it is dropped and each call connects immediately.
final class ConnectionPool: Sendable {
    private struct State {
        var connection: ClientConnection?
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
        // Reports errors of the configuration early.
        _ = try makeTransport()
    }

    /// The current connection, or a new one.
    ///
    /// - Throws: `unavailable` after ``close()``; `invalidArgument` for certificates that cannot be
    ///   read.
    func current() throws(LarderError) -> ClientConnection {
        try state.withLock { (state) throws(LarderError) in
            guard !state.isClosed else { throw Self.closed }
            if let connection = state.connection { return connection }
            let connection = ClientConnection(try makeTransport())
            metrics.connected()
            configuration.logger.debug(
                "connecting", metadata: ["host": "\(configuration.host):\(configuration.port)"])
            state.connection = connection
            return connection
        }
    }

    /// Drops a connection that has failed to connect.
    func retire(_ connection: ClientConnection) {
        let isCurrent = state.withLock { state in
            guard state.connection === connection else { return false }
            state.connection = nil
            return true
        }
        if isCurrent { connection.retire() }
    }

    /// Whether calls are refused.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Refuses further calls.
    func refuse() {
        state.withLock { $0.isClosed = true }
    }

    /// Closes the connection and its calls.
    func close() async {
        let connection = state.withLock { state in
            state.isClosed = true
            defer { state.connection = nil }
            return state.connection
        }
        await connection?.end()
    }

    /// The error of calls after ``close()``.
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
                .invalidArgument, "the transport cannot be created from the configuration",
                cause: error)
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
                        [ConnectFailureHandler(), ReadCompletionHandler(), FlushHandler()],
                        position: .first)
                }
            }
            // See FlushHandler.
            transport.connection.flushCoalescing = nil
            transport.connection.maxIdleTime = idleTimeout
            // Also without calls: otherwise the transport stops pinging after the last call, and
            // does not resume with the next. Each ping restarts its timeout: an interval below the
            // timeout would never time out.
            transport.connection.keepalive = keepaliveInterval.map {
                .init(
                    time: max($0, keepaliveTimeout * 1.1), timeout: keepaliveTimeout,
                    allowWithoutCalls: true)
            }
        }
    }
}

// MARK: - Connections

/// A running gRPC client: one connection, which reconnects after it was idle.
///
/// Calls keep it alive.
final class ClientConnection: Sendable {
    let client: GRPCClient<SettledTransport<HTTP2ClientTransport.Posix>>
    private let running: Task<Void, Never>

    init(_ transport: HTTP2ClientTransport.Posix) {
        let client = GRPCClient(transport: SettledTransport(transport))
        self.client = client
        // Detached from the first caller's task.
        running = Task.detached { try? await client.runConnections() }
    }

    deinit {
        running.cancel()
    }

    /// Refuses new calls; those in progress continue.
    func retire() {
        client.beginGracefulShutdown()
    }

    /// Closes the connection and its calls.
    func end() async {
        client.beginGracefulShutdown()
        running.cancel()
        await running.value
    }
}
