import GRPCCore
import LarderHTTP
import NIOCore
import Synchronization

/// The server's transport of gRPC over HTTP/2, for `GRPCServer`.
///
/// LarderHTTP serves HTTP/2, gRPC routes long calls; in between each call is an object of its
/// connection (``Call``), not a channel.
final class CallTransport: ServerTransport {
    typealias Bytes = [UInt8]

    private struct State {
        var methods: [MethodDescriptor] = []
        var channel: (any Channel)?
        var isStopped = false
    }

    private let listener: HTTPListener
    private let connections: OpenConnections
    private let web: WebAPI
    private let webLimits: HTTPLimits
    private let prepare: Prepare
    private let state = Mutex(State())
    private let bound: EventLoopPromise<SocketAddress?>

    /// Creates the context of all calls from the methods and their handler.
    typealias Prepare =
        @Sendable ([MethodDescriptor], @escaping CallContext.Handler) -> CallContext

    init(
        _ listener: HTTPListener, _ connections: OpenConnections, _ web: WebAPI,
        _ webLimits: HTTPLimits, _ prepare: @escaping Prepare
    ) {
        self.listener = listener
        self.connections = connections
        self.web = web
        self.webLimits = webLimits
        self.prepare = prepare
        bound = listener.eventLoopGroup.any().makePromise()
    }

    deinit {
        endListening()
    }

    /// The listening address, once it listens; nil if it never does.
    var address: SocketAddress? {
        get async { (try? await bound.futureResult.get()).flatMap { $0 } }
    }

    func configure(context: GRPCServerContext) {
        state.withLock { $0.methods = context.methods }
    }

    /// Serves until the shutdown begins, and then until all calls and connections have ended.
    ///
    /// - Throws: the error if it cannot listen.
    func listen(streamHandler: @escaping CallContext.Handler) async throws {
        let calls = prepare(state.withLock { $0.methods }, streamHandler)
        let respond: HTTPRespond = { [web, connections] request, reply in
            connections.beginCall()
            await web.respond(to: request, reply)
            connections.endCall()
        }
        let channel = try await listener.listen(
            http1: { [webLimits] in try HTTP1Handler.add(to: $0, webLimits, respond) },
            http2: { [webLimits] in
                try HTTP2Connection.add(to: $0, calls.limits.ofConnection) {
                    calls.isCall($0)
                        ? calls.makeCall($0, $1, $2, $3)
                        : HTTP2Request($1, of: $2, on: $3, webLimits, respond)
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

    func beginGracefulShutdown() {
        let channel = state.withLock { state in
            state.isStopped = true
            return state.channel
        }
        channel?.close(promise: nil)
        connections.quiesce()
    }
}
