import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

@Suite("Plain HTTP at a port with TLS")
struct PlainTextRefusalTests {
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handler: PlainTextRefusal())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    @Test(
        "a request is answered with 400 and a sentence, and the connection is closed",
        arguments: ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "P"])
    func plain(request: String) throws {
        try channel.writeInbound(ByteBuffer(string: request))
        let response = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
        #expect(response?.hasPrefix("HTTP/1.1 400 Bad Request\r\n") == true)
        #expect(
            response?.hasSuffix(
                "\r\n\r\nThis port requires TLS, and the request is plain HTTP: use https.\n")
                == true)
        try channel.writeInbound(ByteBuffer(string: "more"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
        channel.embeddedEventLoop.advanceTime(by: PlainTextRefusal.patience)
        #expect(!channel.isActive)
    }

    @Test("TLS passes, and the check ends")
    func encrypted() throws {
        let hello = ByteBuffer(bytes: [22, 3, 1, 0, 1])
        try channel.writeInbound(hello)
        #expect(try channel.readInbound() == hello)
        try channel.writeInbound(ByteBuffer(string: "GET"))
        #expect(try channel.readInbound() == ByteBuffer(string: "GET"))
        channel.embeddedEventLoop.advanceTime(by: PlainTextRefusal.patience)
        #expect(channel.isActive)
        _ = try channel.finish()
    }
}
