import GRPCCore
import NIOCore
import Synchronization

/// gRPC over HTTP/2, for a server: what `GRPCServer` serves calls with.
///
/// HTTP/2 is ``HTTP2Handler``'s and the routing of long calls gRPC's; between them a call is an object of its
/// connection (``Call``), no channel of its own.
final class CallTransport: ServerTransport {
    typealias Bytes = [UInt8]

    private struct State {
        var methods: [MethodDescriptor] = []
        var channel: (any Channel)?
        var isStopped = false
    }

    private let listener: FrontListener
    private let connections: OpenConnections
    private let prepare: Prepare
    private let state = Mutex(State())
    private let bound: EventLoopPromise<SocketAddress?>

    /// Makes of all methods, and of what serves their calls, what connections have in common.
    typealias Prepare =
        @Sendable ([MethodDescriptor], @escaping CallServing.Handler) -> CallServing

    /// A transport that does not listen yet.
    init(
        _ listener: FrontListener, _ connections: OpenConnections, _ prepare: @escaping Prepare
    ) {
        self.listener = listener
        self.connections = connections
        self.prepare = prepare
        bound = listener.eventLoopGroup.any().makePromise()
    }

    deinit {
        endListening()
    }

    /// Where it listens, as soon as it does; nil where it does not come to it.
    var address: SocketAddress? {
        get async { (try? await bound.futureResult.get()).flatMap { $0 } }
    }

    func configure(context: GRPCServerContext) {
        state.withLock { $0.methods = context.methods }
    }

    /// Serves until it is to stop, and then until all calls and connections have ended.
    ///
    /// - Throws: what hinders it to listen.
    func listen(streamHandler: @escaping CallServing.Handler) async throws {
        let serving = prepare(state.withLock { $0.methods }, streamHandler)
        let channel = try await listener.listen { try CallConnection.add(to: $0, serving) }
        bound.succeed(channel.localAddress)
        let isStopped = state.withLock { state in
            state.channel = channel
            return state.isStopped
        }
        if isStopped { channel.close(promise: nil) }
        try? await channel.closeFuture.get()
        await connections.end()
    }

    /// Tells who waits for the address that there is none, unless there was one.
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
