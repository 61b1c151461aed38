import LarderCore
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

@Suite("Protocol selection")
final class ProtocolSelectorTests {
    private let channel = EmbeddedChannel()
    private var serving = 0
    private var failure: (any Error)?

    init() throws {
        try channel.pipeline.syncOperations.addHandler(
            ProtocolSelector(
                http1: {
                    try HTTP1Handler.add(
                        to: $0,
                        HTTPLimits(
                            bodyBytes: 1, bodyTime: .seconds(1), writeTime: .seconds(1),
                            admission: RequestAdmission(limit: 1)),
                        MemoryLedger(limit: 1)
                    ) { _, _ in }
                },
                http2: { [unowned self] _ in
                    serving += 1
                    if let failure { throw failure }
                }))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

    @Test("the preface of HTTP/2 selects HTTP/2, which receives all bytes")
    func http2() throws {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for part in [preface.prefix(8), preface.dropFirst(8)] {
            #expect(serving == 0)
            try channel.writeInbound(ByteBuffer(substring: part))
        }
        #expect(serving == 1)
        #expect(try channel.readInbound() == ByteBuffer(string: preface))
        // The protocol is selected, and the timeout cancelled.
        try channel.writeInbound(ByteBuffer(string: "x"))
        #expect(try channel.readInbound() == ByteBuffer(string: "x"))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }

    @Test("anything else selects HTTP/1.1", arguments: ["GET", "PRX"])
    func http1(method: String) throws {
        try channel.writeInbound(ByteBuffer(string: "\(method) /health HTTP/1.1\r\n"))
        #expect(serving == 0)
        _ = try channel.pipeline.syncOperations.handler(type: HTTP1Handler.self)
        #expect(throws: ChannelPipelineError.self) {
            try self.channel.pipeline.syncOperations.handler(type: ProtocolSelector.self)
        }
    }

    @Test("a connection that cannot be prepared is closed, and further bytes are ignored")
    func unready() throws {
        failure = ChannelError.ioOnClosedChannel
        for _ in 0..<2 {
            channel.pipeline.fireChannelRead(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\n"))
        }
        #expect(serving == 1 && !channel.isActive)
    }

    @Test("a silent connection is closed")
    func silent() throws {
        try channel.writeInbound(ByteBuffer(string: "PRI"))
        channel.embeddedEventLoop.advanceTime(by: .seconds(19))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive && serving == 0)
    }

    @Test("a connection without a request is closed when the server stops")
    func stops() {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!channel.isActive)
    }
}
