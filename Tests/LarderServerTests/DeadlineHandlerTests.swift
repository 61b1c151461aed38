import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderServer

@Suite("Server: the time that clients give calls")
struct DeadlineHandlerTests {
    private func call(_ timeout: String?) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handlers: [RefusalHandler(), DeadlineHandler()])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        var headers: HPACKHeaders = [":path": "/google.firestore.v1.Firestore/Listen"]
        if let timeout { headers.add(name: "grpc-timeout", value: timeout) }
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: headers)))
        return channel
    }

    private func headers(_ frame: HTTP2Frame.FramePayload?) -> HPACKHeaders? {
        if case .headers(let headers) = frame { headers.headers } else { nil }
    }

    @Test("is theirs to the end, which they are told of, and the call is closed")
    func passed() throws {
        let channel = try call("1500m")
        let passedOn = try #require(
            headers(try channel.readInbound(as: HTTP2Frame.FramePayload.self)))
        #expect(passedOn.map(\.name) == [":path"])
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1499))
        #expect(channel.isActive)
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        let ending = try #require(
            headers(try channel.readOutbound(as: HTTP2Frame.FramePayload.self)))
        #expect(ending[":status"] == ["200"] && ending["grpc-status"] == ["4"])
        #expect(!channel.isActive)
        #expect(try channel.finish(acceptAlreadyClosed: true).isClean)
    }

    @Test("leaves nothing behind when the call is done, and is for ever where it is not given")
    func done() throws {
        let early = try call("60S")
        early.close(promise: nil)
        let late = try call(nil)
        let unreadable = try call("1 minute")
        let longest = try call("99999999H")
        for channel in [early, late, unreadable, longest] {
            channel.embeddedEventLoop.advanceTime(by: .hours(100_000))
            #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        }
        #expect(late.isActive && unreadable.isActive && longest.isActive)
        // What cannot be read is for the service to judge.
        _ = try unreadable.readInbound(as: HTTP2Frame.FramePayload.self)
        for channel in [early, late, unreadable, longest] {
            _ = try channel.finish(acceptAlreadyClosed: true)
        }
    }

    @Test("ends a call that has answered with its code alone")
    func answered() throws {
        let channel = try call("1S")
        try channel.writeOutbound(
            HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"])))
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        _ = try channel.readOutbound(as: HTTP2Frame.FramePayload.self)
        let ending = try #require(
            headers(try channel.readOutbound(as: HTTP2Frame.FramePayload.self)))
        #expect(ending[":status"].isEmpty && ending["grpc-status"] == ["4"])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
