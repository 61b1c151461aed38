import NIOCore
import NIOPosix
import NIOSSL

/// Accepts connections for gRPC and for plain HTTP/1.1 on one port.
///
/// A ``ProtocolSelector`` makes a connection ready for what the client's first bytes say that it
/// speaks.
struct FrontListener: Sendable {
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
    /// Answers HTTP/1.1.
    let admin: AdminAPI

    private static let backlog: Int32 = 1_024
    /// How much a connection reads at a time: little at first, as an idle one keeps the room.
    private static let readBytes = AdaptiveRecvByteBufferAllocator(
        minimum: 64, initial: 512, maximum: 65_536)

    /// Listens.
    ///
    /// - Parameter serveHTTP2: makes a connection ready whose client speaks HTTP/2.
    /// - Returns: the socket that listens.
    func listen(
        _ serveHTTP2: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> any Channel {
        try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.recvAllocator, value: Self.readBytes)
            .childChannelInitializer { [self] channel in
                connections.add(channel)
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(ProtocolSelector(admin, serveHTTP2))
                }
            }
            .bind(host: host, port: port).get()
    }
}
