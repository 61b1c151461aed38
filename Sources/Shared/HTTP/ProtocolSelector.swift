import NIOCore

/// Selects HTTP/2 or HTTP/1.1 by the first bytes of a connection, and prepares it for that
/// protocol.
///
/// A connection is closed 20 seconds after it was accepted unless it has begun: with HTTP/1.1's first
/// byte, or HTTP/2's preface and settings.
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The beginning of every HTTP/2 connection, and of no other request (RFC 9113, 3.4).
    private static let preface = Array("PRI * HTTP/2.0".utf8)
    private static let firstBytesTimeout = TimeAmount.seconds(20)

    private let http1: (any Channel) throws -> Void
    private let http2: (any Channel) throws -> Void
    private var received = ByteBuffer()
    private var timeout: Scheduled<Void>?
    private var isSelected = false
    /// When the connection was accepted.
    private(set) var start: NIODeadline?

    /// - Parameters:
    ///   - http1: adds the handlers of HTTP/1.1 to a connection's pipeline.
    ///   - http2: adds the handlers of HTTP/2.
    init(
        http1: @escaping (any Channel) throws -> Void, http2: @escaping (any Channel) throws -> Void
    ) {
        self.http1 = http1
        self.http2 = http2
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        start = context.eventLoop.now
        timeout = context.eventLoop.scheduleTask(in: Self.firstBytesTimeout) {
            channel.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // After a failed preparation the connection is closing.
        guard !isSelected else { return }
        var bytes = unwrapInboundIn(data)
        received.writeBuffer(&bytes)
        let beginning = received.readableBytesView.prefix(Self.preface.count)
        guard Self.preface.starts(with: beginning) else { return handOver(context, http1) }
        guard beginning.count == Self.preface.count else { return }
        handOver(context, http2)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The server is stopping, and this connection has no request.
        if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private func handOver(
        _ context: ChannelHandlerContext, _ prepare: (any Channel) throws -> Void
    ) {
        isSelected = true
        do {
            try prepare(context.channel)
        } catch {
            return context.close(promise: nil)
        }
        let bytes = received
        received = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
