import Foundation
import LarderSharedTestSupport
import NIOCore
import NIOPosix

/// A TCP connection whose bytes a test sends and waits for.
final class RawClient: Sendable {
    struct Response {
        var status = 0
        var fields: [String: String] = [:]
        var body = ""
    }

    private struct Received {
        var bytes: [UInt8] = []
        var isClosed = false
    }

    private let channel: any Channel
    private let received: Awaited<Received>

    /// Connects.
    init(_ port: Int) async throws {
        let received = Awaited(Received())
        self.received = received
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_rcvbuf), value: 16 << 10)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let received: Awaited<Received>

        init(_ received: Awaited<Received>) {
            self.received = received
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Array(unwrapInboundIn(data).readableBytesView)
            received.change { $0.bytes += bytes }
        }

        func channelInactive(context: ChannelHandlerContext) {
            received.change { $0.isClosed = true }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// The bytes so far.
    var bytes: [UInt8] { received.value.bytes }

    /// The text so far.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// True once the server has closed the connection.
    var isClosed: Bool { received.value.isClosed }

    /// Waits for bytes that satisfy a condition, or the end of the connection.
    @discardableResult
    func wait(_ condition: @escaping @Sendable ([UInt8]) -> Bool) async -> [UInt8] {
        await received.wait { $0.isClosed || condition($0.bytes) }
        return bytes
    }

    /// Waits for a text, or the end of the connection.
    @discardableResult
    func wait(for text: String) async -> String {
        await wait { String(decoding: $0, as: UTF8.self).contains(text) }
        return self.text
    }

    /// Waits until the server has closed the connection.
    func waitForEnd() async {
        await received.wait { $0.isClosed }
    }

    /// Takes what the server sends from now on, or nothing.
    func setReading(_ reads: Bool) async throws {
        try await channel.setOption(.autoRead, value: reads).get()
    }

    func close() async throws {
        try await channel.close()
    }

    // MARK: Requests

    /// Sends a request on a connection of its own.
    static func request(
        _ method: String, _ target: String, _ body: String = "", _ fields: [String] = [],
        to server: MountedServer
    ) async throws -> Response {
        let client = try await RawClient(server.port)
        let lines =
            ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
            + ["Content-Length: \(body.utf8.count)", "", body]
        try await client.send(lines.joined(separator: "\r\n"))
        await client.waitForEnd()
        return response(client.text)
    }

    private static func response(_ text: String) -> Response {
        var response = Response()
        guard let end = text.range(of: "\r\n\r\n") else { return response }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        response.status = Int(lines[0].split(separator: " ")[1]) ?? 0
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            response.fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        response.body = String(text[end.upperBound...])
        return response
    }

    // MARK: WebSockets

    /// Opens a WebSocket.
    ///
    /// - Returns: the head of the response.
    @discardableResult
    func upgrade(_ target: String = "/.ws?v=5&ns=demo", _ fields: [String] = []) async throws
        -> String
    {
        let lines =
            [
                "GET \(target) HTTP/1.1", "Host: localhost", "Connection: Upgrade",
                "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ] + fields + ["", ""]
        try await send(lines.joined(separator: "\r\n"))
        return await wait(for: "\r\n\r\n")
    }

    /// A masked frame.
    static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [7, 77, 177, 250]
        let bit: UInt8 = isMasked ? 0x80 : 0
        var frame = [first]
        switch payload.count {
        case ..<126: frame.append(bit | UInt8(payload.count))
        case ..<65_536:
            frame += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
        default:
            frame.append(bit | 127)
            frame += (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 0xff) }
        }
        guard isMasked else { return frame + payload }
        return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    func sendText(_ text: String) async throws {
        try await send(Self.frame(0x81, Array(text.utf8)))
    }
}
