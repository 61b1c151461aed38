package import NIOCore
package import NIOHTTP1

/// Serves one request of HTTP/1.1 and closes its connection.
///
/// The body of a request is discarded; one above 64 KiB closes the connection.
package final class HTTP1Handler: ChannelInboundHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundOut = HTTPServerResponsePart

    /// A request without its body.
    package struct Request: Sendable {
        package var method: String
        package var path: String
        /// The header `authorization`.
        package var authorization: String?
        /// The headers that web access is checked by.
        package var web = WebAccess.Request()

        package init(
            method: String, path: String, authorization: String? = nil,
            web: WebAccess.Request = .init()
        ) {
            self.method = method
            self.path = path
            self.authorization = authorization
            self.web = web
        }
    }

    package struct Response: Sendable, Equatable {
        package var status: Int
        /// The header `content-type`.
        package var contentType: String
        package var body: String

        package init(status: Int, contentType: String = "application/json", body: String) {
            self.status = status
            self.contentType = contentType
            self.body = body
        }
    }

    package typealias Respond = @Sendable (Request) async -> Response

    private static let maxBodyBytes = 64 << 10
    private static let requestTimeout = TimeAmount.seconds(20)

    private let respond: Respond
    private var head: HTTPRequestHead?
    private var bodyBytes = 0
    private var timeout: Scheduled<Void>?

    init(_ respond: @escaping Respond) {
        self.respond = respond
    }

    /// Adds HTTP/1.1 to the end of a connection's pipeline; call it on the connection's event loop.
    package static func add(to channel: any Channel, _ respond: @escaping Respond) throws {
        try channel.pipeline.syncOperations.addHandlers(
            HTTPResponseEncoder(),
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
            HTTP1Handler(respond))
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.requestTimeout) {
            channel.close(promise: nil)
        }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = self.head ?? head
        case .body(let bytes):
            bodyBytes += bytes.readableBytes
            if bodyBytes > Self.maxBodyBytes { context.close(promise: nil) }
        case .end: serve(context)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The response in progress ends the connection in any case.
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func serve(_ context: ChannelHandlerContext) {
        guard let head = head.take() else { return }
        timeout?.cancel()
        let respond = respond
        let request = Request(
            method: head.method.rawValue, path: head.uri,
            authorization: head.headers.first(name: "authorization"),
            web: WebAccess.Request(
                hosts: head.headers["host"], origin: head.headers.first(name: "origin"),
                site: head.headers.first(name: "sec-fetch-site")))
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.makeFutureWithTask { await respond(request) }
            .whenSuccess { response in
                bound.value.handler.write(response, head, bound.value.context)
            }
    }

    private func write(
        _ response: Response, _ request: HTTPRequestHead, _ context: ChannelHandlerContext
    ) {
        let body = ByteBuffer(string: response.body)
        var head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: response.status))
        head.headers.add(name: "content-type", value: response.contentType)
        head.headers.add(name: "content-length", value: "\(body.readableBytes)")
        head.headers.add(name: "connection", value: "close")
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
