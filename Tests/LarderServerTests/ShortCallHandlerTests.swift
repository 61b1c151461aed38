import Foundation
import GRPCCore
import LarderProtocol
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import NIOPosix
import SwiftProtobuf
import Synchronization
import Testing

@testable import LarderServer

@Suite("Server: small calls, answered where they come")
struct ShortCallHandlerTests {
    private typealias Frame = HTTP2Frame.FramePayload
    private typealias Method = Google_Firestore_V1_Firestore.Method

    private static let service = "/google.firestore.v1.Firestore/"

    private let test = TestService()

    private func channel(_ calls: ShortCalls) async throws -> NIOAsyncTestingChannel {
        let channel = try await NIOAsyncTestingChannel { channel in
            try channel.pipeline.syncOperations.addHandlers(
                RefusalHandler(),
                ShortCallHandler(calls, LoopExecutor(MultiThreadedEventLoopGroup.singleton)))
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        return channel
    }

    private static func headers(_ method: String, _ others: HPACKHeaders = [:]) -> HPACKHeaders {
        var headers: HPACKHeaders = [
            ":method": "POST", ":scheme": "http", ":path": service + method,
            "content-type": "application/grpc",
        ]
        for (name, value, _) in others { headers.replaceOrAdd(name: name, value: value) }
        return headers
    }

    private static func data(_ bytes: [UInt8], isLast: Bool = true) -> Frame {
        .data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: isLast))
    }

    /// A message and what stands before it.
    private static func framed(_ bytes: [UInt8]) -> [UInt8] {
        [0] + withUnsafeBytes(of: UInt32(bytes.count).bigEndian, Array.init) + bytes
    }

    private static func framed(_ message: some Message) throws -> [UInt8] {
        framed(try message.serializedBytes())
    }

    /// How a call is answered: the headers, the messages and the ending.
    private func answer(
        _ channel: NIOAsyncTestingChannel
    ) async throws -> (messages: [[UInt8]], ending: HPACKHeaders) {
        var messages: [[UInt8]] = []
        while true {
            switch try await channel.waitForOutboundWrite(as: Frame.self) {
            case .headers(let frame) where frame.endStream: return (messages, frame.headers)
            case .headers(let frame): #expect(frame.headers == CallHeaders.answer)
            case .data(let frame):
                guard case .byteBuffer(var bytes) = frame.data else { continue }
                while let isCompressed = bytes.readInteger(as: UInt8.self) {
                    #expect(isCompressed == 0)
                    let message = bytes.readLengthPrefixedSlice(as: UInt32.self)
                    messages.append(Array(try #require(message).readableBytesView))
                }
            default: Issue.record("another frame")
            }
        }
    }

    private func get(_ id: String) -> Google_Firestore_V1_GetDocumentRequest {
        .with { $0.name = "\(test.root)/c/\(id)" }
    }

    private func batchGet(_ count: Int) -> Google_Firestore_V1_BatchGetDocumentsRequest {
        .with {
            $0.database = "projects/p/databases/(default)"
            $0.documents = (0..<count).map { "\(test.root)/c/000\($0)" }
        }
    }

    @Test("A request is answered, however its bytes come", arguments: [1, 3, 1_000])
    func answered(size: Int) async throws {
        try await test.fill("c", 0..<1)
        let channel = try await channel(test.service.shortCalls(nil))
        try await channel.writeInbound(
            Frame.headers(.init(headers: Self.headers("GetDocument"))))
        var rest = try Self.framed(get("0000"))[...]
        while !rest.isEmpty {
            try await channel.writeInbound(Self.data(Array(rest.prefix(size)), isLast: false))
            rest = rest.dropFirst(size)
        }
        try await channel.writeInbound(Self.data([]))
        let (messages, ending) = try await answer(channel)
        let document = try Google_Firestore_V1_Document(
            serializedBytes: try #require(messages.first))
        #expect(messages.count == 1 && document.name == get("0000").name)
        #expect(ending == CallHeaders.success)
        #expect(try await channel.readInbound(as: Frame.self) == nil)
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    @Test("A read of few documents is answered; one of more goes on", arguments: [4, 5])
    func batches(count: Int) async throws {
        try await test.fill("c", 0..<3)
        let channel = try await channel(test.service.shortCalls(nil))
        let request = try Self.framed(batchGet(count))
        try await channel.writeInbound(
            Frame.headers(.init(headers: Self.headers("BatchGetDocuments"))))
        try await channel.writeInbound(Self.data(request))
        if count == 4 {
            let answers = try await answer(channel).messages.map {
                try Google_Firestore_V1_BatchGetDocumentsResponse(serializedBytes: $0)
            }
            #expect(answers.map { $0.found.name.suffix(4) } == ["0000", "0001", "0002", ""])
            #expect(answers.last?.missing.suffix(4) == "0003")
        } else {
            #expect(try await passedOn(channel) == [request])
        }
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    /// What has gone on behind the headers.
    private func passedOn(_ channel: NIOAsyncTestingChannel) async throws -> [[UInt8]] {
        guard case .headers = try await channel.readInbound(as: Frame.self) else { return [] }
        var passedOn: [[UInt8]] = []
        while case .data(let frame) = try await channel.readInbound(as: Frame.self) {
            guard case .byteBuffer(let bytes) = frame.data else { continue }
            passedOn.append(Array(bytes.readableBytesView))
        }
        return passedOn
    }

    /// Something that gRPC's transport is to look at.
    struct Odd: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var method = "Rollback"
        var headers: HPACKHeaders = [:]
        var data: [[UInt8]] = [[0, 0, 0, 0, 0]]
    }

    private static let odd = [
        Odd(testDescription: "compressed", data: [[1, 0, 0, 0, 0]]),
        Odd(testDescription: "two messages", data: [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]),
        Odd(
            testDescription: "two messages in two frames",
            data: [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]),
        Odd(testDescription: "no message", data: [[]]),
        Odd(testDescription: "a part of a prefix", data: [[0, 0]]),
        Odd(testDescription: "a part of a message", data: [[0, 0, 0, 0, 9, 1]]),
        Odd(testDescription: "bytes that are no message", data: [framed([0xff])]),
        Odd(testDescription: "a stream", method: "Listen"),
        Odd(testDescription: "no method", method: "Nothing"),
        Odd(testDescription: "another content", headers: ["content-type": "application/json"]),
        Odd(testDescription: "another encoding", headers: ["grpc-encoding": "gzip"]),
        Odd(testDescription: "GET", headers: [":method": "GET"]),
        Odd(testDescription: "another scheme", headers: [":scheme": "ftp"]),
        Odd(
            testDescription: "a large request",
            data: [[UInt8](repeating: 0, count: 40_000), [UInt8](repeating: 0, count: 40_000)]),
    ]

    @Test("What is not small and plain goes on as it came", arguments: odd)
    func goesOn(odd: Odd) async throws {
        let channel = try await channel(test.service.shortCalls(nil))
        try await channel.writeInbound(
            Frame.headers(.init(headers: Self.headers(odd.method, odd.headers))))
        for (number, bytes) in odd.data.enumerated() {
            try await channel.writeInbound(Self.data(bytes, isLast: number == odd.data.count - 1))
        }
        #expect(try await passedOn(channel) == odd.data)
        #expect(try await channel.readOutbound(as: Frame.self) == nil)
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    @Test("A call that ends with its headers goes on")
    func empty() async throws {
        let channel = try await channel(test.service.shortCalls(nil))
        try await channel.writeInbound(
            Frame.headers(.init(headers: Self.headers("Rollback"), endStream: true)))
        #expect(try await channel.readInbound(as: Frame.self) != nil)
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    @Test(
        "Who bears no token goes on, to be refused", arguments: [nil, "Bearer x", "Bearer secret"])
    func token(authorization: String?) async throws {
        let channel = try await channel(test.service.shortCalls(BearerToken("secret")))
        try await channel.writeInbound(
            Frame.headers(
                .init(
                    headers: Self.headers(
                        "GetDocument", authorization.map { ["authorization": $0] } ?? [:]))))
        try await channel.writeInbound(Self.data(try Self.framed(get("none"))))
        if authorization == "Bearer secret" {
            #expect(try await answer(channel).ending["grpc-status"] == ["5"])
        } else {
            #expect(try await passedOn(channel).count == 1)
        }
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    // MARK: Answers of any kind

    /// One call, which does as a closure says.
    private func rollback(_ answer: @escaping ShortCall.Answer) async throws
        -> NIOAsyncTestingChannel
    {
        let call = ShortCall(method: Method.Rollback.descriptor) { _ in answer }
        let channel = try await channel(ShortCalls([call], test.service.monitor, nil))
        try await channel.writeInbound(Frame.headers(.init(headers: Self.headers("Rollback"))))
        try await channel.writeInbound(Self.data([0, 0, 0, 0, 0]))
        return channel
    }

    @Test("An error is told with its words and details, as headers have them")
    func failed() async throws {
        let channel = try await rollback {
            throw RPCError(
                code: .aborted, message: "100 % é\n", metadata: ["x-bin": .binary([1, 2])])
        }
        let (messages, ending) = try await answer(channel)
        #expect(messages.isEmpty)
        #expect(
            ending == [
                ":status": "200", "content-type": "application/grpc", "grpc-status": "10",
                "grpc-message": "100 %25 %C3%A9%0A", "x-bin": "AQI=",
            ])
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    @Test("What nobody has thought of is an error of the server")
    func unexpected() async throws {
        struct Failure: Error {}
        let channel = try await rollback { throw Failure() }
        #expect(try await answer(channel).ending["grpc-status"] == ["13"])
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }

    @Test("Work for a client that leaves hears of it, and its answer goes nowhere")
    func left() async throws {
        let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let (ended, hasEnded) = AsyncStream.makeStream(of: Void.self)
        let channel = try await rollback {
            await withRPCCancellationHandler {
                hasBegun.yield()
                for await _ in ended { break }
            } onCancelRPC: {
                hasEnded.yield()
            }
            return [[]]
        }
        for await _ in begun { break }
        try await channel.close()
        // It ends with the call, or the test does not.
        #expect(try await channel.readOutbound(as: Frame.self) == nil)
        _ = try await channel.finish(acceptAlreadyClosed: true)
    }
}
