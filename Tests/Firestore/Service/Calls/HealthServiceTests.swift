import GRPCCore
import LarderHTTP
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("grpc.health.v1")
struct HealthServiceTests {
    private static let monitor = CallMonitor(
        Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    private static let watch: HPACKHeaders = [":path": "/grpc.health.v1.Health/Watch"]
    private static let firestore = "google.firestore.v1.Firestore"

    private let health = HealthService(monitor: monitor, watcherLimit: 2)

    /// The bytes of a request for a service.
    private func request(_ service: String) throws -> [UInt8] {
        try Google_Protobuf_StringValue(service).serializedBytes()
    }

    /// Begins a call of `Watch` and returns its first response.
    private func watch(
        _ service: String, _ connection: TestConnection, on id: HTTP2StreamID = 1
    ) async throws -> [[UInt8]] {
        try await connection.open("", on: id, Self.watch)
        try await connection.send(
            TestConnection.framed(try request(service)), on: id, isLast: true)
        return try await messages(connection, id)
    }

    private func messages(_ connection: TestConnection, _ id: HTTP2StreamID = 1) async throws
        -> [[UInt8]]
    {
        var messages: [[UInt8]] = []
        let sent = try await connection.sent(id)
        for case .data(let frame) in sent {
            guard case .byteBuffer(let bytes) = frame.data else { continue }
            messages += try TestConnection.messages(bytes)
        }
        return messages
    }

    // MARK: Check

    @Test(
        "the server and its service are serving until the server stops",
        arguments: ["", firestore])
    func serving(service: String) throws {
        #expect(try health.response(to: request(service)) == [8, 1])
        health.stop()
        #expect(try health.response(to: request(service)) == [8, 2])
    }

    @Test("an unknown service is not found, a malformed request is refused")
    func unknown() throws {
        let request = try request("other")
        #expect(throws: RPCError(code: .notFound, message: "unknown service 'other'")) {
            try health.response(to: request)
        }
        #expect(throws: RPCError(code: .invalidArgument, message: "the request is malformed")) {
            try health.response(to: [1])
        }
    }

    @Test("a connection serves the calls without a token, and nothing else")
    func withoutToken() async throws {
        let connection = try await TestConnection(health.methods, token: BearerToken("t"))
        try await connection.open("", [":path": "/grpc.health.v1.Health/Check"])
        try await connection.send(TestConnection.framed([]), isLast: true)
        let answer = try await connection.answer()
        #expect(answer.messages == [[8, 1]] && answer.ending["grpc-status"] == ["0"])
        #expect(try await watch("", connection, on: 3) == [[8, 1]])
        try await connection.open("GetDocument", on: 5)
        #expect(try await connection.ending(5)?["grpc-status"] == ["16"])
    }

    // MARK: Watch

    @Test("a watcher receives the status, and another when the server stops, which ends the call")
    func watches() async throws {
        let connection = try await TestConnection(health.methods)
        #expect(try await watch(Self.firestore, connection) == [[8, 1]])
        #expect(try await watch("", connection, on: 3) == [[8, 1]])
        health.stop()
        for id in [1, 3] as [HTTP2StreamID] {
            let (messages, ending) = try await connection.answer(id)
            #expect(messages == [[8, 2]] && ending["grpc-status"] == ["14"])
        }
        // Once it stops, the first response is the last.
        #expect(try await watch("", connection, on: 5) == [[8, 2]])
    }

    @Test("a watcher of an unknown service is told so, and its call goes on")
    func watchesUnknown() async throws {
        let connection = try await TestConnection(health.methods)
        #expect(try await watch("other", connection) == [[8, 3]])
        #expect(try await connection.ending() == nil)
    }

    @Test("a call of Watch has one request, which is well-formed")
    func wrongRequests() async throws {
        for (bytes, status) in [
            ([], "12"), (TestConnection.framed([1]), "3"),
            (TestConnection.framed([]) + TestConnection.framed([]), "12"),
        ] {
            let connection = try await TestConnection(health.methods)
            try await connection.open("", Self.watch)
            try await connection.send(bytes, isLast: true)
            #expect(try await connection.ending()?["grpc-status"] == [status])
        }
    }

    @Test("watchers are limited; one that leaves makes room for another")
    func limit() async throws {
        let connection = try await TestConnection(health.methods)
        for id in [1, 3] as [HTTP2StreamID] {
            #expect(try await watch("", connection, on: id) == [[8, 1]])
        }
        try await connection.open("", on: 5, Self.watch)
        try await connection.send(TestConnection.framed([]), on: 5, isLast: true)
        #expect(try await connection.ending(5)?["grpc-status"] == ["8"])
        try await connection.close(1)
        #expect(try await watch("", connection, on: 7) == [[8, 1]])
    }
}
