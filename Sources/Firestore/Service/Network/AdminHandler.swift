import NIOCore
import NIOHTTP1

/// Answers one request of HTTP/1.1 and closes its connection.
final class AdminHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let maxBodyBytes = 64 << 10
    private static let patience = TimeAmount.seconds(20)

    private let admin: AdminAPI
    private var head: HTTPRequestHead?
    private var bodyBytes = 0
    private var timeout: Scheduled<Void>?

    init(_ admin: AdminAPI) {
        self.admin = admin
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = self.head ?? head
        case .body(let bytes):
            bodyBytes += bytes.readableBytes
            if bodyBytes > Self.maxBodyBytes { context.close(promise: nil) }
        case .end: answer(context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The answer under way is the last in any case.
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard let head = head.take() else { return }
        timeout?.cancel()
        let admin = admin
        let request = AdminAPI.Request(
            method: head.method.rawValue, path: head.uri,
            authorization: head.headers.first(name: "authorization"),
            web: WebAccess.Request(
                hosts: head.headers["host"], origin: head.headers.first(name: "origin"),
                site: head.headers.first(name: "sec-fetch-site")))
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        context.eventLoop.makeFutureWithTask { await admin.answer(request) }
            .whenSuccess { response in
                bound.value.handler.write(response, head, bound.value.context)
            }
    }

    private func write(
        _ response: AdminAPI.Response, _ request: HTTPRequestHead, _ context: ChannelHandlerContext
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
