import LarderCore
import LarderRealtimeModel
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

#if !Networking
    #error("this product needs the trait Networking of the package larder")
#endif

/// The way to an open WebSocket: TCP, TLS, and an HTTP request that the server answers with a
/// change of the protocol.
struct Handshake: Sendable {
    let endpoint: ServerEndpoint
    let namespace: String
    /// The session to name in the request.
    let lastSessionID: String?
    /// The context for encryption; nil without.
    let tls: NIOSSLContext?
    let configuration: WebSocketConfiguration

    /// The largest frame that the decoder can be set to accept.
    private static let maximumFrameBytes = Int(UInt32.max)

    /// Connects a handler, on its event loop.
    func begin(_ socket: SocketHandler) {
        socket.start()
        ClientBootstrap(group: socket.loop)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try initialize(channel, socket) }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .whenFailure { error in
                socket.fail(
                    LarderError(
                        realtime: .unavailable, "no connection to \(endpoint): \(error)",
                        cause: error))
            }
    }

    /// Adds the handlers of the handshake to a channel that is not connected.
    func initialize(_ channel: any Channel, _ socket: SocketHandler) throws {
        socket.attach(channel)
        let pipeline = channel.pipeline.syncOperations
        if let tls {
            try pipeline.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: serverName))
        }
        var http = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: upgrade(socket))
        // The greeting may come together with the answer to the request.
        http.leftOverBytesStrategy = .forwardBytes
        try pipeline.configureUpgradableHTTPClientPipeline(configuration: http)
            .whenFailure { socket.fail(LarderError(connection: $0)) }
    }

    /// The name in the server's certificate; nil for an address, which TLS cannot ask for.
    private var serverName: String? {
        let isAddress = (try? SocketAddress(ipAddress: endpoint.host, port: 0)) != nil
        return isAddress ? nil : endpoint.host
    }

    private func upgrade(
        _ socket: SocketHandler
    ) -> NIOTypedHTTPClientUpgradeConfiguration<Void> {
        let upgrader = NIOTypedWebSocketClientUpgrader<Void>(
            maxFrameSize: min(configuration.maxMessageBytes, Self.maximumFrameBytes),
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try socket.upgrade(channel.pipeline.syncOperations)
                }
            })
        return NIOTypedHTTPClientUpgradeConfiguration(
            upgradeRequestHead: requestHead, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RefusalHandler(socket))
                }
            })
    }

    private var requestHead: HTTPRequestHead {
        let target = ServerEndpoint.requestTarget(
            namespace: namespace, lastSessionID: lastSessionID)
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target)
        head.headers.add(name: "Host", value: "\(endpoint)")
        head.headers.add(name: "User-Agent", value: "Firebase/5/\(LarderVersion.text)/swift/Larder")
        return head
    }
}

/// Ends a connection whose server has answered the request with something else than WebSocket.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let socket: SocketHandler

    init(_ socket: SocketHandler) {
        self.socket = socket
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        socket.fail(
            LarderError(
                realtime: .unavailable,
                "the server does not open a WebSocket: its answer is \(head.status)"))
    }
}
