import GRPCNIOTransportHTTP2
import NIOCore
import NIOPosix
import NIOSSL

/// Accepts connections for gRPC and for plain HTTP/1.1 on one port.
///
/// A connection is made ready for gRPC at once; a ``ProtocolSelector`` before that holds it back
/// until the client's first bytes say what it speaks.
struct FrontListener: HTTP2ServerTransport.ListenerFactory {
    /// Where connections are served.
    let eventLoopGroup: any EventLoopGroup
    /// The address to listen at.
    let host: String
    /// The port to listen at; 0 for any.
    let port: Int
    /// What TLS needs; nil for plain text.
    let tls: NIOSSLContext?
    /// The connections that are open.
    let connections: OpenConnections
    /// How long a connection may be silent: enough to be asked for a sign of life, and to give it.
    let maxSilence: Duration
    /// Answers HTTP/1.1.
    let admin: AdminAPI

    private static let backlog: Int32 = 1_024
    /// How much a connection reads at a time: little at first, as an idle one keeps the room.
    private static let readBytes = AdaptiveRecvByteBufferAllocator(
        minimum: 64, initial: 512, maximum: 65_536)

    func makeListeningChannel(
        listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
        connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
    ) async throws -> NIOAsyncChannel<
        HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel, Never
    > {
        try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: Self.readBytes)
            .serverChannelInitializer { listenerConfigurator.configure(channel: $0) }
            .bind(host: host, port: port) { channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandlers(
                        IdleStateHandler(readTimeout: TimeAmount(maxSilence)), SilenceHandler())
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandlers(
                        FlushHandler(), ProtocolSelector(admin), WritabilityGate())
                }.flatMap {
                    connectionConfigurator.configure(
                        channel: channel,
                        tls: tls == nil ? .none : .configured(requireALPN: false))
                }
            }
    }
}
