import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: the buffer of a call's answers")
struct AnswerBufferHandlerTests {
    @Test("A buffer that was written is not grown into again", arguments: [true, false])
    func room(isHeld: Bool) throws {
        let channel = EmbeddedChannel(handlers: isHeld ? [AnswerBufferHandler()] : [])
        defer { _ = try? channel.finish() }
        var buffer = ByteBuffer(repeating: 7, count: 60_000)
        #expect(try send(buffer, over: channel) == 60_000)
        // As the transport does for its next messages, once those are on their way.
        buffer.clear(minimumCapacity: 10)
        #expect((buffer.capacity < 1_000) == isHeld)
    }

    /// Sends bytes, and gives how many arrive; nobody but a handler has them afterwards.
    private func send(_ buffer: ByteBuffer, over channel: EmbeddedChannel) throws -> Int? {
        try channel.writeOutbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(buffer))))
        let sent = try channel.readOutbound(as: HTTP2Frame.FramePayload.self)
        guard case .data(let frame)? = sent else { return nil }
        return frame.data.readableBytes
    }
}
