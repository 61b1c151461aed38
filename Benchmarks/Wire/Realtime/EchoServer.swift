import ArgumentParser
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A server of SwiftNIO that sends each text frame back, or to all, in a process of its own: the
/// floor of what a server of WebSockets does.
struct EchoServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo-server", abstract: "The floor of the rows puts and pushes.",
        shouldDisplay: false)

    @Option(help: "The port.")
    var port: Int

    @Flag(help: "Sends each frame to all connections.")
    var toAll = false

    func run() async throws {
        let connections = toAll ? Connections() : nil
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Echo(connections))
                }
            })
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.pipeline.configureHTTPServerPipeline(
                    withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let connections: Connections?

    init(_ connections: Connections?) {
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections?.add(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = WebSocketFrame(
            fin: true, opcode: .text, data: unwrapInboundIn(data).unmaskedData)
        if let connections {
            connections.send(frame)
        } else {
            context.write(wrapOutboundOut(frame), promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }
}

/// The connections of a server, which stay open, by their event loops.
private final class Connections: Sendable {
    private struct Group {
        let loop: any EventLoop
        let contexts: NIOLoopBoundBox<[ChannelHandlerContext]>
    }

    private let groups = Mutex<[Group]>([])

    /// Adds a connection; called on its event loop.
    func add(_ context: ChannelHandlerContext) {
        let contexts = groups.withLock { groups in
            if let group = groups.first(where: { $0.loop === context.eventLoop }) {
                return group.contexts
            }
            let contexts = NIOLoopBoundBox<[ChannelHandlerContext]>(
                [], eventLoop: context.eventLoop)
            groups.append(Group(loop: context.eventLoop, contexts: contexts))
            return contexts
        }
        contexts.value.append(context)
    }

    /// Sends a frame to all connections.
    func send(_ frame: WebSocketFrame) {
        for group in groups.withLock({ $0 }) {
            group.loop.execute {
                for context in group.contexts.value {
                    context.writeAndFlush(NIOAny(frame), promise: nil)
                }
            }
        }
    }
}
