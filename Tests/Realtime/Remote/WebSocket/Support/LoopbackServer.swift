import LarderCore
import LarderRealtimeRemote
import LarderRealtimeWire
import LarderSharedTestSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// A WebSocket server on this machine in front of a remote in the process.
final class LoopbackServer: Sendable {
    private let channel: any Channel
    private let reservedPort: ReservedPort
    /// The targets of the requests that opened connections.
    let targets: Box<[String]>

    /// The port at which it listens; after ``close()`` connections to it are refused.
    var port: Int { reservedPort.number }

    /// Serves the remotes of namespaces.
    ///
    /// - Parameter tls: the context of encrypted connections; nil for plain ones.
    init(
        tls: NIOSSLContext? = nil,
        _ remote: @escaping @Sendable (_ namespace: String) -> any RealtimeRemote
    ) async throws {
        let targets = Box<[String]>([])
        self.targets = targets
        let reservedPort = try ReservedPort()
        self.reservedPort = reservedPort
        waitForSpawns()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLServerHandler(context: tls))
                    }
                    let upgrader = NIOTypedWebSocketServerUpgrader<Void>(
                        maxFrameSize: 1 << 20,
                        shouldUpgrade: { channel, head in
                            channel.eventLoop.makeSucceededFuture(
                                head.uri.hasPrefix("/.ws?") ? HTTPHeaders() : nil)
                        },
                        upgradePipelineHandler: { channel, head in
                            targets.withLock { $0.append(head.uri) }
                            return channel.eventLoop.makeCompletedFuture {
                                try channel.pipeline.syncOperations.addHandler(
                                    LoopbackHandler(head, channel, remote))
                            }
                        })
                    let upgrade = NIOTypedHTTPServerUpgradeConfiguration(
                        upgraders: [upgrader],
                        notUpgradingCompletionHandler: { channel in channel.close() })
                    _ = try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
                        configuration: .init(upgradeConfiguration: upgrade))
                }
            }
            .bind(host: "127.0.0.1", port: reservedPort.number).get()
    }

    func close() async throws {
        try await channel.close()
    }
}

/// A connection of a client, which is one of the remote as well.
private final class LoopbackHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let head: HTTPRequestHead
    private let channel: any Channel
    private let remote: @Sendable (_ namespace: String) -> any RealtimeRemote
    private var connection: (any RealtimeConnection)?
    private var assembler = FrameAssembler(maximumBytes: 1 << 28)

    init(
        _ head: HTTPRequestHead, _ channel: any Channel,
        _ remote: @escaping @Sendable (_ namespace: String) -> any RealtimeRemote
    ) {
        (self.head, self.channel, self.remote) = (head, channel, remote)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let (channel, host) = (channel, head.headers["Host"].first ?? "")
        connection = remote(parameter("ns") ?? "").connect(
            ConnectRequest(lastSessionID: parameter("ls"))
        ) { event in
            guard let message = ServerMessage(event, host: host) else {
                channel.close(promise: nil)
                return
            }
            for frame in MessageFrames(message.text).map(Array.init) ?? [] {
                let frame = WebSocketFrame(
                    fin: true, opcode: .text, data: ByteBuffer(bytes: frame))
                channel.writeAndFlush(frame, promise: nil)
            }
        }
    }

    private func parameter(_ name: String) -> String? {
        let query = head.uri.split(separator: "?").last ?? ""
        let pairs = query.split(separator: "&").map { $0.split(separator: "=").map(String.init) }
        return pairs.first { $0.first == name }?.last
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            guard let text = try? assembler.add(Array(frame.unmaskedData.readableBytesView)),
                case .request(let message)? = try? ClientMessage(text),
                let request = try? message.request()
            else { return }
            connection?.send(request, number: message.number)
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection?.close()
        connection = nil
    }
}

extension ServerMessage {
    /// The message of an event; nil for an end without one.
    fileprivate init?(_ event: ConnectionEvent, host: String) {
        switch event {
        case .opened(var hello):
            hello.host = host
            self = .hello(hello)
        case .response(let number, let response):
            self = .response(ResponseMessage(number: number, response))
        case .push(let push): self = .push(push)
        case .reset(let host): self = .reset(host: host)
        case .shutdown(let reason): self = .shutdown(reason: reason)
        case .closed: return nil
        }
    }
}
