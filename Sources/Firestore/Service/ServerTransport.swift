import LarderHTTP
import LarderModel
import Logging
import Metrics
import NIOCore
import Synchronization

/// Listens for a server: gRPC calls over HTTP/2, everything else over HTTP/2 and HTTP/1.1.
final class ServerTransport: Sendable {
    private struct State {
        var channel: (any Channel)?
        var isStopped = false
    }

    private let listener: HTTPListener
    private let connections: OpenConnections
    private let calls: CallContext
    private let front: HTTPFront
    private let faults: FaultMonitor
    private let state = Mutex(State())
    private let bound: EventLoopPromise<SocketAddress?>

    init(
        _ listener: HTTPListener, _ connections: OpenConnections, _ calls: CallContext,
        _ front: HTTPFront, _ faults: FaultMonitor
    ) {
        self.listener = listener
        self.connections = connections
        self.calls = calls
        self.front = front
        self.faults = faults
        bound = listener.eventLoopGroup.any().makePromise()
    }

    deinit {
        endListening()
    }

    /// The listening address, once it listens; nil if it never does, or if the task is cancelled
    /// before.
    var address: SocketAddress? {
        get async {
            let address = bound.futureResult.eventLoop.makePromise(of: SocketAddress?.self)
            bound.futureResult.cascade(to: address)
            return await withTaskCancellationHandler {
                (try? await address.futureResult.get()).flatMap { $0 }
            } onCancel: {
                address.succeed(nil)
            }
        }
    }

    /// True once the port was bound.
    var hasListened: Bool { state.withLock { $0.channel != nil } }

    /// Serves until the shutdown begins, and then until all calls and connections have ended.
    ///
    /// - Throws: the error if it cannot listen.
    func serve() async throws {
        let respond: HTTPRespond = { [front, connections] request, reply in
            connections.beginCall()
            await front.respond(to: request, reply)
            connections.endCall()
        }
        let accept: WebSocketAcceptance = { [front] in await front.webSocket(for: $0) }
        var limits = calls.limits.ofHTTP(calls.admission)
        limits.bodyBytesOfRequest = { [front] in front.bodyBytes(of: $0) }
        limits.bodyFilesOfRequest = { [front] in front.bodyFiles(for: $0) }
        let channel = try await listener.listen(
            http1: { [calls, limits] in
                try HTTP1Handler.add(to: $0, limits, calls.ledger, webSockets: accept, respond)
            },
            http2: { [calls, limits, faults] in
                try HTTP2Connection.add(
                    to: $0, calls.limits.ofConnection, calls.ledger, report: { faults.note($0) }
                ) {
                    calls.isCall($0)
                        ? calls.makeCall($0, $1, $2, $3)
                        : HTTP2Request($1, of: $2, on: $3, limits, respond)
                }
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
