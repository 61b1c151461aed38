import Foundation
import LarderCredentials
import LarderModel
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends requests for tokens over HTTP/1.1, each on a connection of its own.
enum TokenClient {
    /// The time limit of a request, including its connection.
    private static let timeout = TimeAmount.seconds(30)
    /// The largest body of a response.
    private static let maxBodyBytes = 1 << 20

    /// The environment of credentials whose requests go over the network.
    static let environment = TokenEnvironment(
        errorDomain: LarderError.firestoreDomain, send: { try await send($0) })

    /// Sends a request, and returns its response.
    ///
    /// - Throws: `invalidArgument` for an address that is not one of HTTP; errors of the network.
    static func send(_ request: TokenRequest) async throws -> TokenResponse {
        guard let address = URLComponents(string: request.url), let host = address.host,
            let scheme = address.scheme, scheme == "https" || scheme == "http"
        else { throw LarderError.invalidArgument("'\(request)' has no address of HTTP") }
        let isEncrypted = scheme == "https"
        let port = address.port ?? (isEncrypted ? 443 : 80)
        let tls =
            isEncrypted ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
        let (channel, response) = try await ClientBootstrap(
            group: .singletonMultiThreadedEventLoopGroup
        )
        .connectTimeout(timeout)
        .connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let tls {
                    try pipeline.addHandler(
                        try NIOSSLClientHandler(context: tls, serverHostname: host))
                }
                try pipeline.addHTTPClientHandlers()
                try pipeline.addHandler(
                    NIOHTTPClientResponseAggregator(maxContentLength: maxBodyBytes))
                let promise = channel.eventLoop.makePromise(of: TokenResponse.self)
                try pipeline.addHandler(ResponseHandler(promise, timeout))
                return (channel, promise.futureResult)
            }
        }
        channel.write(HTTPClientRequestPart.head(head(request, address)), promise: nil)
        if let body = request.body {
            channel.write(
                HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        do {
            let response = try await response.get()
            channel.close(promise: nil)
            return response
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }

    private static func head(
        _ request: TokenRequest, _ address: URLComponents
    ) -> HTTPRequestHead {
        var headers = HTTPHeaders(request.headers.map { ($0.key, $0.value) })
        headers.add(
            name: "Host", value: (address.host ?? "") + (address.port.map { ":\($0)" } ?? ""))
        headers.add(name: "Connection", value: "close")
        if let body = request.body { headers.add(name: "Content-Length", value: "\(body.count)") }
        let path = address.percentEncodedPath.isEmpty ? "/" : address.percentEncodedPath
        let query = address.percentEncodedQuery.map { "?" + $0 } ?? ""
        return HTTPRequestHead(
            version: .http1_1, method: request.body == nil ? .GET : .POST, uri: path + query,
            headers: headers)
    }
}

/// Completes a promise with the response, with the error of the connection or after a time.
private final class ResponseHandler: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull

    private let promise: EventLoopPromise<TokenResponse>
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ promise: EventLoopPromise<TokenResponse>, _ timeout: TimeAmount) {
        self.promise = promise
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.scheduleTask(in: timeout) { [promise] in
            promise.fail(
                LarderError(.deadlineExceeded, "the request for a token has no response"))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let response = unwrapInboundIn(data)
        timer?.cancel()
        promise.succeed(
            TokenResponse(
                status: Int(response.head.status.code),
                body: response.body.map { Data($0.readableBytesView) } ?? Data()))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        timer?.cancel()
        promise.fail(error)
        context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        // No effect after a response.
        promise.fail(LarderError(.unavailable, "the connection ended without a token"))
    }
}
