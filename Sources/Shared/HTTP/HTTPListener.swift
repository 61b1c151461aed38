package import LarderCore
package import NIOCore
import NIOPosix
package import NIOSSL

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
    private let tls: NIOSSLContext?
    private let connections: OpenConnections

    private static let backlog: Int32 = 1_024
    /// The size of a read: small at first, since an idle connection keeps its buffer.
    private static let readBytes = AdaptiveRecvByteBufferAllocator(
        minimum: 64, initial: 512, maximum: 65_536)

    /// A listener that is not bound yet.
    ///
    /// - Parameters:
    ///   - port: the port to bind; 0 for any free one.
    ///   - tls: the TLS context; nil for plain text.
    ///   - connections: receives each accepted connection; others are closed.
    package init(
        _ eventLoopGroup: any EventLoopGroup, host: String, port: Int, tls: NIOSSLContext?,
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
            .childChannelOption(.recvAllocator, value: Self.readBytes)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    // The bootstrap closes the connection.
                    guard connections.add(channel) else { throw ChannelError.eof }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(ProtocolSelector(http1: http1, http2: http2))
                }
            }
            .bind(host: host, port: port).get()
    }

    /// The cipher suites of TLS 1.2: none of those that HTTP/2 prohibits (RFC 9113, 9.2.2), which
    /// are all with CBC and all without forward secrecy.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// A TLS context (1.2 or later) that offers HTTP/2 and HTTP/1.1.
    ///
    /// - Parameters:
    ///   - certificatePath: a PEM file with the certificate and its intermediates.
    ///   - keyPath: a PEM file with the private key.
    /// - Throws: `invalidArgument` for a certificate or key that cannot be read.
    package static func makeTLS(certificatePath: String, keyPath: String)
        throws(LarderError) -> NIOSSLContext
    {
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificatePath)
                    .map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: keyPath, format: .pem)))
            configuration.minimumTLSVersion = .tlsv12
            configuration.cipherSuiteValues = ciphers
            configuration.applicationProtocols = ["h2", "http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw LarderError(
                .invalidArgument,
                "the certificate '\(certificatePath)' or its key '\(keyPath)' cannot be used: "
                    + "\(error)",
                cause: error, domain: LarderError.sharedDomain)
        }
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
