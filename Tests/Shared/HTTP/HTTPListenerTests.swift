import Foundation
import NIOCore
import NIOEmbedded
import Testing

@testable import LarderHTTP

@Suite("Listening")
struct HTTPListenerTests {
    @Test("Accepting pauses while the system has no more sockets, and goes on")
    func pauses() throws {
        let channel = EmbeddedChannel(handler: AcceptPauseHandler(capacity: .max))
        func fire(_ code: CInt) {
            channel.pipeline.fireErrorCaught(IOError(errnoCode: code, reason: "accept"))
        }
        func isReading() -> Bool? {
            channel.options.first { $0.option is ChannelOptions.Types.AutoReadOption }?.value
                as? Bool
        }
        fire(ECONNABORTED)
        #expect(isReading() == nil)
        for code in [EMFILE, ENFILE, ENOBUFS, ENOMEM] {
            for _ in 0..<3 { fire(code) }
            #expect(isReading() == false)
            channel.embeddedEventLoop.advanceTime(
                by: AcceptPauseHandler.pause - .milliseconds(1))
            #expect(isReading() == false)
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
            #expect(isReading() == true)
        }
        _ = try? channel.finish()
    }

    @Test("Accepting pauses while there are files for no further connection")
    func capacity() throws {
        let channel = EmbeddedChannel(handler: AcceptPauseHandler(capacity: 2))
        func isReading() -> Bool? {
            channel.options.first { $0.option is ChannelOptions.Types.AutoReadOption }?.value
                as? Bool
        }
        let accepted = (0..<3).map { _ in EmbeddedChannel(loop: channel.embeddedEventLoop) }
        let connected = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        for (number, next) in accepted.enumerated() {
            _ = next.connect(to: connected)
            channel.pipeline.fireChannelRead(next as any Channel)
            // One more may have been accepted before reading has ended.
            #expect(isReading() == (number == 0 ? nil : false))
        }
        accepted[0].close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect(isReading() == false)
        channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        accepted[1].close(promise: nil)
        channel.embeddedEventLoop.run()
        #expect(isReading() == false)
        channel.embeddedEventLoop.advanceTime(by: AcceptPauseHandler.pause)
        #expect(isReading() == true)
        accepted[2].close(promise: nil)
        channel.embeddedEventLoop.run()
        _ = try? channel.finish()
    }
}
