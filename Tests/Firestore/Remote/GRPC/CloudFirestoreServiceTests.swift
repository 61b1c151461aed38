import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import ServiceLifecycleTestKit
import Testing

@Suite("A connection as a service", .timeLimit(.minutes(10)))
struct CloudFirestoreServiceTests {
    @Test("closes when the group shuts down")
    func gracefully() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await cloud.run() }
                let (watch, write) = try await CloudStreamTests.openStreams(cloud, server)
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
                #expect(watch.mirror.ending??.kind == .unavailable)
                #expect(write.current.ending??.kind == .unavailable)
            }
        }
        try await server.close()
    }

    @Test("closes when its task is cancelled")
    func cancelled() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let running = Task { try await cloud.run() }
        let (watch, _) = try await CloudStreamTests.openStreams(cloud, server)
        running.cancel()
        try await running.value
        #expect(watch.mirror.ending??.kind == .unavailable)
        try await server.close()
    }

    @Test("speaks TLS with a host that its certificates vouch for, and with no other")
    func tls() async throws {
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.file("certificate.pem"), directory.file("key.pem"))
        try TestKeys.serverCertificate.write(toFile: certificate, atomically: true, encoding: .utf8)
        try TestKeys.serverKey.write(toFile: key, atomically: true, encoding: .utf8)
        let server = try await TestServer.started(
            security: .tls(
                certificateChain: [.file(path: certificate, format: .pem)],
                privateKey: .file(path: key, format: .pem)))
        let trusting = try server.client {
            $0.host = "localhost"
            $0.security = .tlsTrusting(certificateFiles: [certificate])
        }
        _ = try await CloudStreamTests.openStreams(trusting, server)
        let careful = try server.client {
            $0.host = "localhost"
            $0.security = .tls
        }
        let refused = WriteProbe(careful.connection.remote)
        await refused.wait { $0.ending != nil }
        #expect(refused.current.ending??.kind == .unavailable)
        let unreadable = #expect(throws: LarderError.self) {
            try server.client {
                $0.security = .tlsTrusting(certificateFiles: [directory.file("none.pem")])
            }
        }
        #expect(unreadable?.kind == .invalidArgument)
        for cloud in [trusting, careful] { await cloud.close() }
        try await server.close()
    }
}
