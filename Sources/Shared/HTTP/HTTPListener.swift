package import NIOCore
import NIOPosix
import NIOSSL

/// Accepts connections for HTTP/2 and HTTP/1.1 on one port, with or without TLS.
///
/// A ``ProtocolSelector`` prepares each connection for the protocol of its first bytes.
package struct HTTPListener: Sendable {
    /// Adds handlers to the end of a connection's pipeline; runs on its event loop.
    package typealias Prepare = @Sendable (any Channel) throws -> Void

    /// The event loops that serve connections.
    package let eventLoopGroup: any EventLoopGroup
    private let host: String
    private let port: Int
    private let tls: TLSCredentials?
    private let connections: OpenConnections

    private static let backlog: Int32 = 1_024
    /// The maximum of unsent bytes that the system keeps of a connection.
    ///
    /// Without a limit it takes up to 4 MiB of a response that nobody reads, which no account counts.
    private static let unsentBytes = 128 << 10
    /// The size of a read: small at first, since an idle connection keeps its buffer.
    private static let readBytes = AdaptiveRecvByteBufferAllocator(
        minimum: 64, initial: 512, maximum: 65_536)

    /// A listener that is not bound yet.
    ///
    /// - Parameters:
    ///   - port: the port to bind; 0 for any free one.
    ///   - tls: the certificate; nil for plain text.
    ///   - connections: receives each accepted connection; others are closed.
    package init(
        _ eventLoopGroup: any EventLoopGroup, host: String, port: Int, tls: TLSCredentials?,
        connections: OpenConnections
    ) {
        self.eventLoopGroup = eventLoopGroup
        self.host = host
        self.port = port
        self.tls = tls
        self.connections = connections
    }

    /// Binds the port and accepts connections.
    ///
    /// - Parameters:
    ///   - http1: prepares a connection for HTTP/1.1.
    ///   - http2: prepares a connection for HTTP/2.
    /// - Returns: the listening channel.
    package func listen(
        http1: @escaping Prepare, http2: @escaping Prepare
    ) async throws -> any Channel {
        try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptPauseHandler(capacity: connections.limits.files))
                }
            }
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(
                .tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT)),
                value: Self.unsentBytes
            )
            .childChannelOption(.recvAllocator, value: Self.readBytes)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    // The bootstrap closes the connection.
                    guard connections.add(channel) else { throw ChannelError.eof }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(PlainTextRefusal())
                        try pipeline.addHandler(NIOSSLServerHandler(context: tls.context))
                    }
                    try pipeline.addHandler(ProtocolSelector(http1: http1, http2: http2))
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// Pauses accepting while as many connections are open as the process has files for, and while the
/// system cannot provide another socket: clients wait until there is room.
///
/// NIO's `AcceptBackoffHandler` only delays reads: the listening socket stays registered, and its
/// event loop spins.
final class AcceptPauseHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    static let pause = TimeAmount.milliseconds(100)
    private static let shortages = [EMFILE, ENFILE, ENOBUFS, ENOMEM]

    private let capacity: Int
    private var openCount = 0
    private var isShort = false
    private var isPaused = false

    /// - Parameter capacity: the number of open connections from which accepting pauses.
    init(capacity: Int) {
        self.capacity = capacity
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        openCount += 1
        let channel = context.channel
        unwrapInboundIn(data).closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete {
            [self] _ in
            openCount -= 1
            settle(channel)
        }
        settle(channel)
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIO closes the channel after other errors, except for an aborted connection.
        guard let error = error as? IOError, Self.shortages.contains(error.errnoCode), !isShort
        else { return }
        isShort = true
        let channel = context.channel
        settle(channel)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
            isShort = false
            settle(channel)
        }
    }

    private func settle(_ channel: any Channel) {
        let pauses = isShort || openCount >= capacity
        guard pauses != isPaused else { return }
        isPaused = pauses
        // Fails if the server has stopped listening.
        try? channel.syncOptions?.setOption(.autoRead, value: !pauses)
    }
}
