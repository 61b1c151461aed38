package import LarderCore
package import NIOCore
package import NIOHTTP1

/// Serves the requests of an HTTP/1.1 connection, one after another.
///
/// The connection stays open between requests as its client asks, and is closed if no request
/// comes within ``HTTPLimits/headTime``.
package final class HTTP1Handler: ChannelInboundHandler {
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
    /// - Parameter ledger: counts the memory of the connection.
    package static func add(
        to channel: any Channel, _ limits: HTTPLimits, _ ledger: MemoryLedger,
        _ respond: @escaping HTTPRespond
    ) throws {
        try channel.pipeline.syncOperations.addHandlers(
            HTTPResponseEncoder(),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
            HTTPServerPipelineHandler(), HTTP1Handler(limits, ledger, respond))
    }

    // MARK: Connection

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        // The account refers to the handler until ``end()``.
        memory = ledger.open { completion in
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
        let request = HTTPRequest(
            method: head.method.rawValue, target: head.uri,
            fields: head.headers.map { ($0.name.lowercased(), $0.value) })
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
        request.isKeepAlive && !isClosing
    }
}

extension HTTPRequestHead {
    fileprivate var isChunked: Bool { headers.contains(name: "transfer-encoding") }
}
