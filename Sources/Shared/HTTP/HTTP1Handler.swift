package import LarderCore
package import NIOCore
package import NIOHTTP1
import NIOWebSocket
import Synchronization

/// Serves the requests of an HTTP/1.1 connection, one after another.
///
/// The connection stays open between requests as its client asks, and is closed if no request
/// comes within ``HTTPLimits/headTime``. The first request may turn it into a WebSocket.
package final class HTTP1Handler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundOut = HTTPServerResponsePart

    private let limits: HTTPLimits
    private let ledger: MemoryLedger
    private let respond: HTTPRespond
    private var context: ChannelHandlerContext?
    private var request: HTTPRequestHead?
    private var exchange: HTTPExchange?
    /// The account of the connection's memory.
    private var memory: MemoryAccount?
    private var isClosing = false
    private var timeout: Scheduled<Void>?

    init(_ limits: HTTPLimits, _ ledger: MemoryLedger, _ respond: @escaping HTTPRespond) {
        self.limits = limits
        self.ledger = ledger
        self.respond = respond
    }

    /// Adds HTTP/1.1 to the end of a connection's pipeline; call it on the connection's event loop.
    ///
    /// - Parameters:
    ///   - ledger: counts the memory of the connection.
    ///   - accept: accepts WebSockets; nil to serve requests for them as any others.
    package static func add(
        to channel: any Channel, _ limits: HTTPLimits, _ ledger: MemoryLedger,
        webSockets accept: WebSocketAcceptance? = nil, _ respond: @escaping HTTPRespond
    ) throws {
        let encoder = HTTPResponseEncoder()
        let decoder = ByteToMessageHandler(
            HTTPRequestDecoder(leftOverBytesStrategy: accept == nil ? .dropBytes : .forwardBytes))
        let pipelining = HTTPServerPipelineHandler()
        // Answers malformed requests with 400, and closes the connection.
        let errors = HTTPServerProtocolErrorHandler()
        let handler = HTTP1Handler(limits, ledger, respond)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers(encoder, decoder, pipelining, errors)
        if let accept {
            try pipeline.addHandler(
                HTTPServerUpgradeHandler(
                    upgraders: [upgrader(accept, ledger, writeTime: limits.writeTime)],
                    httpEncoder: encoder, extraHTTPHandlers: [decoder, pipelining, errors, handler]
                ) { _ in })
        }
        try pipeline.addHandler(handler)
    }

    private static func upgrader(
        _ accept: @escaping WebSocketAcceptance, _ ledger: MemoryLedger, writeTime: TimeAmount
    ) -> NIOWebSocketServerUpgrader {
        let accepted = AcceptedWebSocket()
        return NIOWebSocketServerUpgrader(
            maxFrameSize: WebSocketHandler.frameBytes, automaticErrorHandling: false,
            shouldUpgrade: { channel, head in
                let address = channel.remoteAddress?.ipAddress ?? ""
                return channel.eventLoop.makeFutureWithTask {
                    // It names the client; the WebSocket has an account of its own.
                    let account = ledger.open(for: address) { completion in completion() }
                    defer { account.close() }
                    let opening = await CallOrigin.$current.withValue(
                        CallOrigin(account, account)
                    ) {
                        await accept(HTTPRequest(head))
                    }
                    guard let opening else { return nil }
                    accepted.opening.withLock { $0 = opening }
                    return HTTPHeaders()
                }
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    guard let opening = accepted.opening.withLock({ $0.take() }) else { return }
                    try channel.pipeline.syncOperations.addHandler(
                        WebSocketHandler(
                            opening(channel.eventLoop), ledger, writeTime: writeTime))
                }
            })
    }

    // MARK: Connection

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        // The account refers to the handler until ``end()``.
        memory = ledger.open(for: context.remoteAddress?.ipAddress ?? "") { completion in
            loop.execute {
                bound.value.relieve()
                completion()
            }
        }
        closeConnection(in: limits.headTime, context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused WebSocket is answered as any other request.
        guard !(error is NIOWebSocketUpgradeError) else { return }
        context.close(promise: nil)
    }

    private func end() {
        timeout?.cancel()
        exchange?.close()
        memory?.close()
        (exchange, memory, context) = (nil, nil, nil)
    }

    private func relieve() {
        if let exchange { exchange.relieve() } else { context?.close(promise: nil) }
    }

    private func closeConnection(in time: TimeAmount, _ context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    // MARK: Request

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): exchange?.receive(bytes)
        case .end: exchange?.finish()
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let memory else { return }
        timeout?.cancel()
        request = head
        let request = HTTPRequest(head)
        let exchange = HTTPExchange(
            request, limits, self, of: memory, on: context.eventLoop, respond)
        self.exchange = exchange
        guard head.headers.contains(name: "content-length") || head.isChunked else { return }
        exchange.receiveBody()
        if request[field: "expect"]?.lowercased() == "100-continue" {
            let proceed = NIOHTTP1.HTTPResponseHead(version: head.version, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(proceed)), promise: nil)
        }
    }
}

// MARK: - Response

extension HTTP1Handler: HTTPExchange.Output {
    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        guard let context, let request else { return }
        var response = NIOHTTP1.HTTPResponseHead(
            version: request.version, status: HTTPResponseStatus(statusCode: head.status))
        for (name, value) in head.fields { response.headers.add(name: name, value: value) }
        if let bodyBytes { response.headers.add(name: "content-length", value: "\(bodyBytes)") }
        if !keepsAlive(request) { response.headers.add(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(response)), promise: nil)
    }

    func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        guard let context, let request else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        guard request.method != .HEAD else {
            promise?.succeed()
            return
        }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
    }

    func end(_ bytes: ByteBuffer) {
        guard let context, let request else { return }
        if bytes.readableBytes > 0, request.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        }
        (self.request, exchange) = (nil, nil)
        closeConnection(in: limits.writeTime, context)
        // The next request, if it was received already, begins while the end is written.
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete {
            [self] _ in
            guard let context = self.context, exchange == nil else { return }
            if !keepsAlive(request) { return context.close(promise: nil) }
            timeout?.cancel()
            closeConnection(in: limits.headTime, context)
        }
    }

    func pauseBody(_ pauses: Bool) {
        // Without a channel there is nothing to pause.
        try? context?.channel.syncOptions?.setOption(.autoRead, value: !pauses)
    }

    func abort(_ response: HTTPResponse?) {
        isClosing = true
        guard let response else {
            context?.close(promise: nil)
            return
        }
        begin(response.head, bodyBytes: response.body.count)
        end(ByteBuffer(bytes: response.body))
    }

    private func keepsAlive(_ request: HTTPRequestHead) -> Bool {
        request.isKeepAlive && !isClosing && !request.asksForUpgrade
    }
}

extension HTTPRequestHead {
    fileprivate var isChunked: Bool { headers.contains(name: "transfer-encoding") }

    /// True for a request after which the decoder expects another protocol.
    fileprivate var asksForUpgrade: Bool { headers.contains(name: "upgrade") }
}

extension HTTPRequest {
    /// A request without its body.
    fileprivate init(_ head: HTTPRequestHead) {
        self.init(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { ($0.name.lowercased(), $0.value) })
    }
}

/// The WebSocket of a connection between its acceptance and its beginning.
private final class AcceptedWebSocket: Sendable {
    let opening = Mutex<WebSocketOpening?>(nil)
}
