import GRPCCore
import LarderHTTP
import Logging
import NIOHPACK
import NIOHTTP2
import SwiftProtobuf
import Testing

@testable import LarderServer

@Suite("grpc.health.v1")
struct HealthServiceTests {
    private let monitor = CallMonitor(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

    private func health(isServing: Bool = true) -> HealthService {
        HealthService(monitor: monitor) { isServing }
    }

    /// The bytes of a request for a service.
    private func request(_ service: String) throws -> [UInt8] {
        try Google_Protobuf_StringValue(service).serializedBytes()
    }

    @Test(
        "the server and its service are serving until the server stops",
        arguments: ["", "google.firestore.v1.Firestore"])
    func serving(service: String) throws {
        #expect(try health().response(to: request(service)) == [8, 1])
        #expect(try health(isServing: false).response(to: request(service)) == [8, 2])
    }

    @Test("an unknown service is not found, a malformed request is refused")
    func unknown() throws {
        let request = try request("other")
        #expect(throws: RPCError(code: .notFound, message: "unknown service 'other'")) {
            try health().response(to: request)
        }
        #expect(throws: RPCError(code: .invalidArgument, message: "the request is malformed")) {
            try health().response(to: [1])
        }
    }

    @Test("a connection serves the call without a token, and nothing else")
    func withoutToken() async throws {
        let connection = try await TestConnection([health().method], token: BearerToken("t"))
        try await connection.open("", [":path": "/grpc.health.v1.Health/Check"])
        try await connection.send(TestConnection.framed([]), isLast: true)
        let answer = try await connection.answer()
        #expect(answer.messages == [[8, 1]] && answer.ending["grpc-status"] == ["0"])
        try await connection.open("GetDocument", on: 3)
        #expect(try await connection.ending(3)?["grpc-status"] == ["16"])
    }
}
