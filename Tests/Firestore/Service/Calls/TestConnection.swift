import GRPCCore
import LarderCore
import LarderHTTP
import LarderTestSupport
import LarderWire
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import NIOPosix
import SwiftProtobuf
import Synchronization
import Testing

@testable import LarderServer

/// A stream that a test serves, on the event loop of its connection.
final class ServedStream: OpenStream {
    /// What the test sees of it.
    struct Seen {
        var method = ""
        var isBusy = false
        var requests: [[UInt8]] = []
        var finishCount = 0
        var closeCount = 0
    }

    private let seen: Box<Seen>

    init(_ seen: Box<Seen>) {
        self.seen = seen
    }

    var isBusy: Bool { seen.withLock { $0.isBusy } }
    func take(_ request: [UInt8]) { seen.withLock { $0.requests.append(request) } }
    func finish() { seen.withLock { $0.finishCount += 1 } }
    func close() { seen.withLock { $0.closeCount += 1 } }
}

/// A connection of the server without a socket, whose client is a test; methods that are not given
/// are streams that the test serves.
final class TestConnection: Sendable {
    typealias Frame = HTTP2Frame.FramePayload

    static let service = "/google.firestore.v1.Firestore/"

    let channel: NIOAsyncTestingChannel
    let ledger: MemoryLedger
    /// Keeps what is written from being sent.
    let dam = Dam()
    /// The last stream that the test serves.
    let stream = Box(ServedStream.Seen())
    private let call = Box<NIOLoopBound<Call>?>(nil)
    private let frames = Mutex<[HTTP2StreamID: [Frame]]>([:])

    var loop: NIOAsyncTestingEventLoop { channel.testingEventLoop }

    init(
        _ methods: [CallMethod] = [], token: BearerToken? = nil, memory: Int = 256 << 20,
        _ configure: (inout ServerConfiguration.Limits) -> Void = { _ in }
    ) async throws {
        var limits = ServerConfiguration(storage: .memory).limits
        configure(&limits)
        ledger = MemoryLedger(limit: memory)
        let (stream, call) = (stream, call)
        let served = Google_Firestore_V1_Firestore.Method.descriptors.map { descriptor in
            CallMethod.stream(
                StreamMethod(descriptor: descriptor) { opened, _, _ in
                    let bound = NIOLoopBound(opened, eventLoop: opened.loop)
                    call.withLock { $0 = bound }
                    stream.withLock { $0.method = descriptor.method }
                    return ServedStream(stream)
                })
        }
        let calls = CallContext(
            methods: served + methods, token: token,
            access: try ServerConfiguration(storage: .memory).webAccess(), limits: limits,
            ledger: ledger, executor: LoopExecutor(MultiThreadedEventLoopGroup.singleton),
            connections: OpenConnections())
        let (dam, ofConnection) = (dam, limits.ofConnection)
        channel = try await NIOAsyncTestingChannel { channel in
            try channel.pipeline.syncOperations.addHandlers(
                DamHandler(dam),
                HTTP2Connection(
                    ofConnection, on: channel.eventLoop, calls.ledger, makeStream: calls.makeCall))
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
    }

    deinit {
        // A channel that is not closed retains itself, and a call its channel.
        call.withLock { $0 = nil }
        Task { [channel] in
            _ = try? await channel.finish(acceptAlreadyClosed: true)
            await channel.testingEventLoop.run()
        }
    }

    /// Does something with the last stream's call on its event loop.
    func onLoop(_ body: @escaping @Sendable (Call) -> Void) async throws {
        let call = try #require(call.withLock { $0 })
        try await loop.executeInContext { body(call.value) }
        await loop.run()
    }

    // MARK: The client

    /// What a message is sent as.
    static func framed(_ bytes: [UInt8]) -> [UInt8] {
        [0] + withUnsafeBytes(of: UInt32(bytes.count).bigEndian, Array.init) + bytes
    }

    static func framed(_ message: some Message) throws -> [UInt8] {
        framed(try message.serializedBytes())
    }

    /// A message that takes so many bytes with what stands before it.
    static func message(_ bytes: Int) -> [UInt8] {
        framed([UInt8](repeating: 1, count: bytes - 5))
    }

    /// Begins a call.
    func open(
        _ method: String, on id: HTTP2StreamID = 1, _ others: HPACKHeaders = [:],
        isWhole: Bool = false
    ) async throws {
        var headers: HPACKHeaders = [
            ":method": "POST", ":scheme": "http", ":path": Self.service + method,
            "content-type": "application/grpc",
        ]
        for (name, value, _) in others { headers.replaceOrAdd(name: name, value: value) }
        try await say(.headers(.init(headers: headers, endStream: isWhole)), on: id)
    }

    /// Sends a part of a call's requests.
    func send(_ bytes: some Sequence<UInt8>, on id: HTTP2StreamID = 1, isLast: Bool = false)
        async throws
    {
        let data = ByteBuffer(bytes: bytes)
        try await say(.data(.init(data: .byteBuffer(data), endStream: isLast)), on: id)
    }

    /// Sends a frame.
    func say(_ payload: Frame, on id: HTTP2StreamID) async throws {
        try await channel.writeInbound(HTTP2Frame(streamID: id, payload: payload))
    }

    /// Ends a call, as HTTP/2 tells of it when either side has reset it, or both are done.
    func close(_ id: HTTP2StreamID = 1) async throws {
        try await tell(StreamClosedEvent(streamID: id, reason: .cancel))
    }

    /// Tells the connection of an event.
    func tell(_ event: some Sendable) async throws {
        try await loop.executeInContext {
            self.channel.pipeline.fireUserInboundEventTriggered(event)
        }
        await loop.run()
    }

    /// Waits for the next frame of a stream.
    func next(_ id: HTTP2StreamID = 1) async throws -> Frame {
        while true {
            let known = frames.withLock { frames in
                frames[id]?.isEmpty == false ? frames[id]?.removeFirst() : nil
            }
            if let known { return known }
            keep(try await channel.waitForOutboundWrite(as: HTTP2Frame.self))
        }
    }

    /// The frames of a stream that have been sent and not been looked at.
    func sent(_ id: HTTP2StreamID = 1) async throws -> [Frame] {
        await loop.run()
        while let frame = try await channel.readOutbound(as: HTTP2Frame.self) { keep(frame) }
        return frames.withLock { $0.removeValue(forKey: id) ?? [] }
    }

    private func keep(_ frame: HTTP2Frame) {
        frames.withLock { $0[frame.streamID, default: []].append(frame.payload) }
    }

    /// Waits until a call is answered.
    func answer(_ id: HTTP2StreamID = 1) async throws
        -> (messages: [[UInt8]], ending: HPACKHeaders)
    {
        var messages: [[UInt8]] = []
        while true {
            switch try await next(id) {
            case .headers(let frame) where frame.endStream: return (messages, frame.headers)
            case .headers(let frame): #expect(frame.headers == ResponseHeaders.beginning)
            case .data(let frame):
                guard case .byteBuffer(let bytes) = frame.data else { continue }
                messages += try Self.messages(bytes)
            default: continue
            }
        }
    }

    /// The messages that bytes are.
    static func messages(_ bytes: ByteBuffer) throws -> [[UInt8]] {
        var (bytes, messages) = (bytes, [[UInt8]]())
        while let isCompressed = bytes.readInteger(as: UInt8.self) {
            #expect(isCompressed == 0)
            let message = bytes.readLengthPrefixedSlice(as: UInt32.self)
            messages.append(Array(try #require(message).readableBytesView))
        }
        return messages
    }

    /// How a call has ended so far; nil where it has not.
    func ending(_ id: HTTP2StreamID = 1) async throws -> HPACKHeaders? {
        for case .headers(let frame) in try await sent(id) where frame.endStream {
            return frame.headers
        }
        return nil
    }
}

/// Keeps what is written from being sent, while it is up.
final class Dam: Sendable {
    private let state = Mutex((isUp: false, held: [EventLoopPromise<Void>]()))

    func raise() { state.withLock { $0.isUp = true } }

    /// Lets all go that is held.
    func lower() {
        let held = state.withLock { state in
            defer { state = (false, []) }
            return state.held
        }
        for promise in held { promise.succeed() }
    }

    /// Whether something is held that says when it has been sent.
    fileprivate func holds(_ promise: EventLoopPromise<Void>) -> Bool {
        state.withLock { state in
            if state.isUp { state.held.append(promise) }
            return state.isUp
        }
    }
}

/// Stands where HTTP/2 does.
private final class DamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundIn = HTTP2Frame

    private let dam: Dam

    init(_ dam: Dam) {
        self.dam = dam
    }

    /// HTTP/2 sends what was written meanwhile.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let isHeld = promise.map { dam.holds($0) } ?? false
        context.write(data, promise: isHeld ? nil : promise)
    }
}

extension HTTP2Frame.FramePayload {
    /// A frame that is not of a call's own, in words: errors are numbers, as RFC 9113 has them.
    var text: String {
        switch self {
        case .rstStream(let code): "reset \(code.networkCode)"
        case .goAway(let last, let code, let data):
            "go away \(code.networkCode) behind \(Int(last)) \(data.map { String(buffer: $0) } ?? "")"
        case .ping(_, let ack): ack ? "pong" : "ping"
        default: "another"
        }
    }
}
