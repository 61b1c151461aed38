import Foundation
import GRPCCore
import Larder
import LarderBackend
import LarderGRPC
import LarderModel
import LarderTestSupport
import Logging
import Synchronization
import Testing

@Suite("A server that does not believe", .timeLimit(.minutes(10)))
struct UnauthenticatedTests {
    /// Gives another token each time that it is asked.
    private static func numbered(_ given: Awaited<Int>) -> CloudCredentials {
        .provider { _, _ in
            given.change { $0 += 1 }
            return AccessToken("token-\(given.value)", lifetime: .seconds(3600))
        }
    }

    @Test("gets each write once there is a token that it believes")
    func writes() async throws {
        let server = try await TestServer.started()
        server.setGate { call in
            guard call.header("authorization") == ["Bearer token-3"] else {
                throw RPCError(code: .unauthenticated, message: "who is there?")
            }
        }
        let given = Awaited(0)
        let cloud = try server.client { $0.credentials = Self.numbered(given) }
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = TestServer.project
        configuration.backend = cloud.connection
        let db = try Firestore(configuration: configuration)
        for number in 0..<20 { db.document("c/d\(number)").enqueueSetData(["n": number]) }
        try await db.waitForPendingWrites()
        #expect(given.value == 3)
        for number in 0..<20 {
            let document = try server.backend.document(at: try DocumentPath("c/d\(number)"))
            #expect(document?.fields["n"] == .integer(Int64(number)))
        }
        #expect(server.calls.value.count { $0.method == "Write" } == 3)
        try await db.terminate()
        await cloud.close()
        try await server.close()
    }

    @Test("is asked once more by calls, with a new token")
    func calls() async throws {
        let server = try await TestServer.started()
        server.setGate { call in
            guard call.header("authorization") != ["Bearer token-1"] else {
                throw RPCError(code: .unauthenticated, message: "who is there?")
            }
        }
        let given = Awaited(0)
        let cloud = try server.client { $0.credentials = Self.numbered(given) }
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = TestServer.project
        configuration.backend = cloud.connection
        let db = try Firestore(configuration: configuration)
        let count = try await db.collection("c").count.getAggregation(source: .server).count
        #expect(count == 0 && given.value == 2)
        try await db.terminate()
        await cloud.close()
        try await server.close()
    }

    @Test("never writes the token to a log")
    func logs() async throws {
        let lines = Awaited<[String]>([])
        var logger = Logger(label: "test") { _ in
            ClosureLog { event in
                let line = "\(event.level) \(event.message) \(event.metadata ?? [:])"
                lines.change { $0.append(line) }
            }
        }
        logger.logLevel = .trace
        let server = try await TestServer.started()
        server.setGate { _ in throw RPCError(code: .unauthenticated, message: "no") }
        let log = logger
        let cloud = try server.client {
            $0.credentials = .provider { _, _ in AccessToken("hunter2") }
            $0.logger = log
        }
        let probe = WriteProbe(cloud.connection.remote)
        await probe.wait { $0.ending != nil }
        #expect(probe.current.ending??.kind == .unauthenticated)
        let told = "\(probe.current.ending as Any) \(lines.value)"
        #expect(!lines.value.isEmpty && !told.contains("hunter2"))
        await cloud.close()
        try await server.close()
    }
}
