import LarderHTTP
import LarderModel
import Logging
import Metrics
import NIOCore
import Synchronization

/// Listens for a server: gRPC calls over HTTP/2, everything else over HTTP/1.1.
final class ServerTransport: Sendable {
    private struct State {
        var channel: (any Channel)?
        var isStopped = false
    }

    private let listener: HTTPListener
    private let connections: OpenConnections
    private let calls: CallContext
    private let admin: AdminAPI
    private let faults: FaultMonitor
    private let state = Mutex(State())
    private let bound: EventLoopPromise<SocketAddress?>

    init(
        _ listener: HTTPListener, _ connections: OpenConnections, _ calls: CallContext,
        _ admin: AdminAPI, _ faults: FaultMonitor
    ) {
        self.listener = listener
        self.connections = connections
        self.calls = calls
        self.admin = admin
        self.faults = faults
        bound = listener.eventLoopGroup.any().makePromise()
    }

    deinit {
        endListening()
    }

    /// The listening address, once it listens; nil if it never does.
    var address: SocketAddress? {
        get async { (try? await bound.futureResult.get()).flatMap { $0 } }
    }

    /// Serves until the shutdown begins, and then until all calls and connections have ended.
    ///
    /// - Throws: the error if it cannot listen.
    func serve() async throws {
        let channel = try await listener.listen(
            http1: { [admin] in try HTTP1Handler.add(to: $0) { await admin.respond(to: $0) } },
            http2: { [calls, faults] in
                try HTTP2Connection.add(
                    to: $0, calls.limits.ofConnection, calls.ledger,
                    report: { faults.note($0) }, makeStream: calls.makeCall)
            })
        bound.succeed(channel.localAddress)
        let isStopped = state.withLock { state in
            state.channel = channel
            return state.isStopped
        }
        if isStopped { channel.close(promise: nil) }
        try? await channel.closeFuture.get()
        await connections.end()
    }

    /// Completes callers waiting for the address if the server has never listened.
    func endListening() {
        bound.succeed(nil)
    }

    /// Stops accepting connections, and closes each connection after its last call.
    func stop() {
        let channel = state.withLock { state in
            state.isStopped = true
            return state.channel
        }
        channel?.close(promise: nil)
        connections.quiesce()
    }
}

/// Logs and counts faults of connections: the counter `larder_server_http2_faults` by `reason`.
///
/// Violations by clients are logged at debug level, failures of the server as errors.
final class FaultMonitor: Sendable {
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    func note(_ fault: HTTP2Fault) {
        Counter(label: "larder_server_http2_faults", dimensions: [("reason", fault.reason)])
            .increment()
        logger.log(
            level: fault.isOfClient ? .debug : .error, "a fault of a connection",
            metadata: ["reason": "\(fault.reason)", "detail": "\(fault.detail)"])
    }
}
